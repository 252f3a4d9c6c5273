#include "bus/nats/nats_link.hpp"
#include "bus/nats/test_nats_server.hpp"
#include "core/call/test_tools.hpp"
#include "fleet/loop_of_node.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::fleet {
namespace {

using namespace std::chrono_literals;

/// Answers at once with what it was asked.
class Echo final : public core::CallRunner {
public:
    using CallRunner::run;
    Task<core::CallEnd> run(core::AuthenticatedCall call, core::FrameSink&,
                            core::WhileRunning) override {
        ++ran;
        core::CallEnd ended{.attempts = 1};
        ended.outcome = std::make_shared<const core::Outcome>(
            core::ToolResult{.content = std::string(call.call().args)});
        co_return ended;
    }
    int ran = 0;
};

struct FixedRoute final : Directory {
    Task<std::optional<Route>> find(const core::Call&, const core::Principal&) override {
        co_return route;
    }
    std::optional<Route> route;
};

/// What is around the loop of a node.
struct Surroundings {
    FixedRoute directory;
    Echo calls;
};

struct Part : Surroundings, LoopOfNode {
    Part(net::EventLoop& loop, const bus::FleetKeys& keys, bus::nats::NatsLink::Options nats,
         const bus::Place& place)
        : LoopOfNode({.keys = keys,
                      .self = place,
                      .incarnation = 1,
                      .directory = directory,
                      .here = calls,
                      .is_here = [](const ForwardHead& head) { return head.connection == 5; },
                      .ids = loop.ids(),
                      .clock = loop.clock(),
                      .home = loop.executor(),
                      .timers = loop.timers()}),
          link(loop, std::move(nats), place, mail) {
        open(link);
        link.start();
    }
    bus::nats::NatsLink link;
};

const bus::Place kHome{.node = 1, .loop = 0, .boot = 11}, kOwner{.node = 2, .loop = 0, .boot = 22};

struct ForwardOverNatsTest : testing::Test {
    RealClock clock;
    net::EventLoop loop{clock};
    const bus::FleetKeys keys = bus::FleetKeys::parse(std::string(64, '7'), "f").value();
    std::optional<bus::nats::TestNatsServer> server;
    std::optional<Part> home, owner;
    core::PrincipalRef principal = core::principal_of("caller/ann");

    void SetUp() override {
        if (!bus::nats::TestNatsServer::is_installed())
            GTEST_SKIP() << "nats-server is not installed";
        server.emplace();
        const bus::nats::NatsLink::Options nats{
            .fleet = "f", .servers = {server->address()}, .name = "a test"};
        home.emplace(loop, keys, nats, kHome);
        owner.emplace(loop, keys, nats, kOwner);
        home->directory.route = Route{.place = kOwner, .connection = 5, .tool = "dev__act"};
        ASSERT_TRUE(until([&] { return home->link.connected() && owner->link.connected(); }));
        home->start();
        owner->start();
        ASSERT_TRUE(until([&] {
            return home->beats.newest_of(process_of(kOwner)) &&
                   owner->beats.newest_of(process_of(kHome));
        }));
    }
    void TearDown() override {
        for (auto* part : {&home, &owner}) {
            if (!*part) continue;
            (*part)->stop([] {});
            (*part)->link.stop();
        }
        for (int i = 0; i < 10; ++i) loop.run_some(1ms);
        home.reset();
        owner.reset();
    }
    bool until(const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
            loop.run_some(5ms);
        }
        return true;
    }
    /// One call; what its caller is told, and how long that took.
    struct Told {
        std::string what;
        std::chrono::steady_clock::duration after{};
    };
    Told call(std::string args) {
        core::Call asked;
        core::FrameSink sink;
        asked.tool = "dev__act";
        asked.args = args;
        asked.idempotency_key = "k";
        std::optional<core::CallEnd> end;
        const auto begun = std::chrono::steady_clock::now();
        spawn(loop.executor(), home->forwarder.run(core::AuthenticatedCall(asked, principal), sink),
              [&](const std::exception_ptr&, std::optional<core::CallEnd> with) {
                  end = std::move(with);
              });
        EXPECT_TRUE(until([&] { return end.has_value(); }));
        const core::Outcome& outcome = *end->outcome;
        return {.what = outcome ? outcome->content : std::string(token_of(outcome.error().code)),
                .after = std::chrono::steady_clock::now() - begun};
    }
};

TEST_F(ForwardOverNatsTest, CallsPassARealServerAndAreToldThatNobodyIsThere) {
    EXPECT_EQ(call(R"({"n":1})").what, R"({"n":1})");
    const std::string large = R"({"text":")" + std::string(400'000, 'x') + R"("})";
    EXPECT_EQ(call(large).what, large);
    const std::string too_large = R"({"text":")" + std::string(600'000, 'x') + R"("})";
    EXPECT_EQ(call(too_large).what, "OVERSIZE");
    EXPECT_EQ(owner->calls.ran, 2);
    EXPECT_EQ(home->calls.ran, 0);
    owner->link.stop();
    // What the server passes on before it has seen that is lost, and nobody can say so.
    ASSERT_TRUE(until([&] {
        EXPECT_TRUE(home->mail.send(kOwner, {.kind = bus::Kind::kAck}, ""));
        return home->link.counts().nobody.value() > 0;
    }));
    const Told nobody = call("{}");
    EXPECT_EQ(nobody.what, "UNAVAILABLE");
    EXPECT_LT(nobody.after, 5s) << "without any wait of its own";
    EXPECT_EQ(home->forwarder.counts().nobody.value(), 2u);
}

TEST_F(ForwardOverNatsTest, WithoutItsServerAGatewayRefusesWhatIsElsewhereAtOnceAndThenGoesOn) {
    server->kill();
    ASSERT_TRUE(until([&] { return !home->link.connected() && !owner->link.connected(); }));
    const Told away = call("{}");
    EXPECT_EQ(away.what, "UNAVAILABLE");
    EXPECT_LT(away.after, 2s);
    home->directory.route.reset();
    EXPECT_EQ(call(R"({"here":1})").what, R"({"here":1})") << "what is here is not affected";
    home->directory.route = Route{.place = kOwner, .connection = 5, .tool = "dev__act"};
    server->start_again();
    ASSERT_TRUE(until([&] { return home->link.connected() && owner->link.connected(); }));
    ASSERT_TRUE(until([&] { return call("{}").what == "{}"; }));
}

TEST_F(ForwardOverNatsTest, WhoeverMayPublishCannotRunATool) {
    const bus::FleetKeys foreign = bus::FleetKeys::parse(std::string(64, '8'), "f").value();
    Part stranger(loop, foreign,
                  {.fleet = "f", .servers = {server->address()}, .name = "a stranger"},
                  {.node = 3, .loop = 0, .boot = 33});
    ASSERT_TRUE(until([&] { return stranger.link.connected(); }));
    core::Call asked;
    asked.id = "x";
    asked.tool = "dev__act";
    const std::string body =
        forward_to_wire({.id = {1, 2}, .connection = 5, .beat = 1}, asked, *principal);
    ASSERT_TRUE(stranger.mail.send(kOwner, {.kind = bus::Kind::kForward}, body));
    ASSERT_TRUE(until([&] { return owner->mail.counts().forged.value() > 0; }));
    EXPECT_EQ(owner->calls.ran, 0);
    EXPECT_EQ(owner->owner.known(), 0u);
}

}  // namespace
}  // namespace crab::fleet
