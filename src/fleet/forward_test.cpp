#include "base/task/test_loop.hpp"
#include "bus/local/local_network.hpp"
#include "bus/local/mortal_bus.hpp"
#include "core/call/test_tools.hpp"
#include "fleet/loop_of_node.hpp"
#include "fleet/result_pieces.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::fleet {
namespace {

using namespace std::chrono_literals;

/// Runs calls as a test says; each waits until it is told its outcome.
class ScriptedRunner final : public core::CallRunner {
public:
    explicit ScriptedRunner(TestLoop& loop) : loop_(loop) {}
    using CallRunner::run;
    Task<core::CallEnd> run(core::AuthenticatedCall call, core::FrameSink& to,
                            core::WhileRunning) override {
        ran.push_back(std::string(call.call().tool) + " for " + call.principal()->id);
        providers.emplace_back(call.call().provider_id);
        deadlines.push_back(call.call().caller_deadline);
        sink = &to;
        Waiter waiter(loop_.timers);
        waiting = &waiter;
        const WaitEnd end = outcome ? WaitEnd::kWoken : co_await waiter.wait(kNoDeadline);
        waiting = nullptr;
        core::CallEnd ended{.attempts = 1};
        ended.outcome = std::make_shared<const core::Outcome>(
            end == WaitEnd::kCancelled ? core::Outcome(fail(ErrorCode::kCancelled, "cancelled"))
                                       : outcome.value());
        (co_await this_chain()).forget_cancellation();
        co_return ended;
    }
    void answer(core::Outcome with) {
        outcome = std::move(with);
        if (waiting != nullptr) waiting->wake();
    }
    std::vector<std::string> ran, providers;
    std::vector<Deadline> deadlines;
    std::optional<core::Outcome> outcome;
    Waiter* waiting = nullptr;
    core::FrameSink* sink = nullptr;  ///< of the newest call, while it runs

private:
    TestLoop& loop_;
};

struct FixedDirectory final : Directory {
    Task<std::optional<Route>> find(const core::Call&, const core::Principal&) override {
        ++asked;
        co_return route;
    }
    std::optional<Route> route;
    int asked = 0;
};

/// What is around the loop of a node.
struct Surroundings {
    Surroundings(TestLoop& loop, const bus::Place& place)
        : calls(loop), running_calls(loop.executor(), loop.clock), ids(loop.clock, place.boot) {}
    FixedDirectory directory;
    ScriptedRunner calls;
    core::RunningCalls running_calls;
    IdSource ids;
    std::uint64_t link = 5;  ///< the only one that is here
};

struct Side : Surroundings, LoopOfNode {
    Side(TestLoop& loop, const bus::FleetKeys& keys, bus::local::LocalNetwork& network,
         const bus::Place& place)
        : Surroundings(loop, place),
          LoopOfNode(
              {.keys = keys,
               .self = place,
               .incarnation = place.boot,
               .directory = directory,
               .here = calls,
               .running = &running_calls,
               .is_here = [this](const ForwardHead& head) { return head.connection == link; },
               .ids = ids,
               .clock = loop.clock,
               .home = loop.executor(),
               .timers = loop.timers}),
          bus(network.connect(place, mail)) {
        open(bus);
        start();
    }
    bus::local::MortalBus bus;
};

const bus::Place kHome{.node = 1, .loop = 0, .boot = 11}, kOwner{.node = 2, .loop = 0, .boot = 22};

struct ForwardTest : testing::Test {
    TestLoop loop;
    const bus::FleetKeys keys = bus::FleetKeys::parse(std::string(64, '7'), "f").value();
    bus::local::LocalNetwork network{loop.clock, 1};
    std::optional<Side> home, owner;
    core::PrincipalRef principal = core::principal_of("caller/ann");

    ForwardTest() {
        home.emplace(loop, keys, network, kHome);
        owner.emplace(loop, keys, network, kOwner);
        home->directory.route = Route{.place = kOwner, .connection = 5, .tool = "dev__act"};
        pass(3s);  // each hears the other's beat
    }
    ~ForwardTest() override {
        for (Side* side : {&*home, &*owner}) side->stop([] {});
        pass(100ms);
    }
    void pass(std::chrono::milliseconds time) {
        for (; time > 0ms; time -= 1ms) {
            loop.advance(1ms);
            while (network.deliver_one()) loop.settle();
        }
    }
    /// What a caller hears before the end.
    struct Listener final : core::FrameSink {
        void on_progress(const core::Progress& progress) override {
            heard.push_back(fmt::format("{} {} of {}", progress.message,
                                        progress.progress.value_or(-1),
                                        progress.total.value_or(-1)));
        }
        bool wants_progress() const override { return wants; }
        void on_log(const Log& log) override {
            heard.push_back(fmt::format("{} {}: {}", log.level, log.logger, log.data));
        }
        std::string_view wanted_log_level() const override { return wants ? "info" : ""; }
        bool wants = false;
        std::vector<std::string> heard;
    };
    struct Asked {
        core::Call call;
        Listener sink;
    };
    auto ask(std::string_view key = {}, std::optional<std::chrono::milliseconds> within = {},
             bool wants_news = false) {
        asked.push_back(std::make_unique<Asked>());
        asked.back()->sink.wants = wants_news;
        core::Call& call = asked.back()->call;
        call.tool = "dev__act";
        call.idempotency_key = key;
        if (within) call.caller_deadline = loop.clock.steady_now() + *within;
        return loop.start(
            home->forwarder.run(core::AuthenticatedCall(call, principal), asked.back()->sink));
    }
    static std::string said(const core::CallEnd& end) {
        return *end.outcome ? (*end.outcome)->content
                            : std::string(token_of(end.outcome->error().code));
    }
    /// The process of the owner ends; nobody has its place.
    void kill_owner() {
        owner->bus.die();
        owner->stop([] {});
        loop.settle();
    }
    std::vector<std::unique_ptr<Asked>> asked;
};

core::ToolResult done() { return {.content = "done"}; }

TEST_F(ForwardTest, TheOwnerRunsTheCallForItsCallerAndHomeTellsTheOutcome) {
    const auto call = ask({}, 30s);
    pass(10ms);
    ASSERT_EQ(owner->calls.ran, std::vector<std::string>{"dev__act for caller/ann"});
    EXPECT_LE(owner->calls.deadlines.front(), loop.in(30s)) << "the deadline travels";
    EXPECT_GE(owner->calls.deadlines.front(), loop.in(29s));
    EXPECT_FALSE(call->ended());
    owner->calls.answer(done());
    pass(10ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "done");
    EXPECT_TRUE(home->calls.ran.empty());
    EXPECT_FALSE(asked.front()->call.id.empty()) << "home made an id";
    EXPECT_EQ(home->forwarder.waiting(), 0u);
}

TEST_F(ForwardTest, AToolThatNoOtherNodeHasRunsHere) {
    home->calls.outcome = done();
    home->directory.route.reset();
    EXPECT_EQ(said(ask()->get()), "done");
    home->directory.route = Route{.place = kHome, .connection = 5, .tool = "dev__act"};
    EXPECT_EQ(said(ask()->get()), "done");
    EXPECT_EQ(home->calls.ran.size(), 2u);
    EXPECT_TRUE(owner->calls.ran.empty());
}

TEST_F(ForwardTest, TheOwnerGetsTheWholeNameAndNoProviderThatWouldStandBeforeItAgain) {
    home->directory.route->tool = "kitchen__light";
    asked.push_back(std::make_unique<Asked>());
    core::Call& call = asked.back()->call;
    call.tool = "light";
    call.provider_id = "kitchen";
    owner->calls.outcome = done();
    const auto running = loop.start(
        home->forwarder.run(core::AuthenticatedCall(call, principal), asked.back()->sink));
    pass(10ms);
    ASSERT_TRUE(running->ended());
    EXPECT_EQ(owner->calls.ran, std::vector<std::string>{"kitchen__light for caller/ann"});
    EXPECT_EQ(owner->calls.providers, std::vector<std::string>{""});
    EXPECT_EQ(call.tool, "light") << "home asks its directory again as the caller asked";
    EXPECT_EQ(call.provider_id, "kitchen");
}

TEST_F(ForwardTest, WhateverIsDoubledTheCallRunsOnce) {
    network.set_faults({.doubled = 1'000, .late = 500, .most_late = 5s});
    const auto call = ask();
    pass(20s);
    owner->calls.answer(done());
    pass(20s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "done");
    EXPECT_EQ(owner->calls.ran.size(), 1u);
}

TEST_F(ForwardTest, ALostForwardIsRepeatedAndLostResultsAreToldUntilHeard) {
    network.cut(1, 2);
    const auto call = ask();
    pass(900ms);
    EXPECT_TRUE(owner->calls.ran.empty());
    network.heal();
    pass(1s);
    EXPECT_EQ(owner->calls.ran.size(), 1u);
    network.cut(2, 1);
    owner->calls.answer(done());
    pass(4s);
    EXPECT_FALSE(call->ended());
    EXPECT_GE(owner->owner.counts().results_repeated.value(), 3u);
    network.heal();
    pass(5s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "done");
    const auto repeated = owner->owner.counts().results_repeated.value();
    pass(10s);
    EXPECT_EQ(owner->owner.counts().results_repeated.value(), repeated) << "it was acknowledged";
    pass(80s);
    EXPECT_EQ(owner->owner.known(), 0u) << "and is forgotten";
}

TEST_F(ForwardTest, ACopyThatNobodyGotIsUnavailableAtOnce) {
    owner->bus.die();
    const auto call = ask("k");
    pass(50ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "UNAVAILABLE");
    EXPECT_EQ(home->directory.asked, 2) << "it has looked once more, and sent once more";
}

TEST_F(ForwardTest, ALinkThatIsGoneIsRefusedAndHomeLooksOnceMore) {
    owner->link = 6;
    const auto call = ask();
    pass(100ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "UNAVAILABLE");
    EXPECT_TRUE(owner->calls.ran.empty());
    EXPECT_EQ(home->directory.asked, 2);
}

TEST_F(ForwardTest, ADeviceThatIsHereNowIsAskedHere) {
    owner->link = 6;
    home->calls.outcome = done();
    const auto call = ask();
    home->directory.route = Route{.place = kHome, .connection = 9, .tool = "dev__act"};
    pass(100ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "done");
    EXPECT_EQ(home->calls.ran.size(), 1u);
}

TEST_F(ForwardTest, AnOwnerThatDiedAfterItTookTheCallIsNeverSaidToHaveRunNothing) {
    const auto call = ask();
    pass(10ms);
    ASSERT_EQ(owner->calls.ran.size(), 1u);
    kill_owner();
    pass(7s);
    EXPECT_FALSE(call->ended());
    pass(5s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "OUTCOME_UNKNOWN");
}

TEST_F(ForwardTest, ACallWithAKeyGoesToWhereTheToolIsNowWhenItsOwnerIsGone) {
    const auto call = ask("k", 60s);
    pass(10ms);
    kill_owner();
    home->calls.outcome = done();
    home->directory.route = Route{.place = kHome, .connection = 9, .tool = "dev__act"};
    pass(12s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "done");
}

TEST_F(ForwardTest, ARefusalByOneProvesNothingOfAnotherThatMayHaveBegun) {
    const auto call = ask("k", 60s);
    pass(10ms);
    kill_owner();
    home->calls.outcome = fail(ErrorCode::kRateLimited, "not now");
    home->directory.route = Route{.place = kHome, .connection = 9, .tool = "dev__act"};
    pass(12s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "OUTCOME_UNKNOWN");
}

TEST_F(ForwardTest, ARefusalOfAnOlderCopyProvesNothing) {
    owner->link = 6;
    network.cut(2, 1);
    const auto call = ask({}, 60s);
    pass(2s);  // two copies are sent, and both refusals are lost
    network.heal();
    const auto refused = home->forwarder.counts().refused.value();
    EXPECT_EQ(refused, 0u);
    EXPECT_FALSE(call->ended());
    pass(3s);  // that of the third is heard
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "UNAVAILABLE");
}

TEST_F(ForwardTest, WhatComesAMinuteLateIsStaleAndBeginsNothing) {
    network.pause(2);
    const auto call = ask({}, 5s);
    pass(70s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "TIMEOUT");
    network.resume(2);
    pass(1s);
    EXPECT_TRUE(owner->calls.ran.empty());
    EXPECT_GE(owner->owner.counts().stale.value(), 1u);
}

TEST_F(ForwardTest, ACancelReachesTheOwner) {
    const auto call = ask();
    pass(10ms);
    ASSERT_NE(owner->calls.waiting, nullptr);
    loop.cancel(*call);
    pass(20ms);
    EXPECT_EQ(owner->calls.waiting, nullptr);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "CANCELLED");
}

TEST_F(ForwardTest, AForwardedCallIsListedAtHomeAndCancelledByItsId) {
    home->directory.route->tenant = "default";
    asked.push_back(std::make_unique<Asked>());
    core::Call& call = asked.back()->call;
    call.tool = "act";
    call.id = "c1";
    const auto started = std::make_shared<Started<core::CallEnd>>();
    call.canceller = &started->signal;
    spawn(
        loop.executor(),
        home->forwarder.run(core::AuthenticatedCall(call, principal), asked.back()->sink),
        [started](const std::exception_ptr& failure, std::optional<core::CallEnd> end) {
            started->failure = failure;
            started->result = std::move(end);
        },
        &started->signal);
    pass(10ms);
    const auto listed = home->running_calls.list();
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].call_id, "c1");
    EXPECT_EQ(listed[0].tool, "act") << "as its caller named it";
    EXPECT_EQ(listed[0].tenant, "default");
    const auto nobody = [](const core::Principal&, std::string_view) { return false; };
    const auto anybody = [](const core::Principal&, std::string_view) { return true; };
    EXPECT_EQ(home->running_calls.cancel("c1", nobody), 0u);
    EXPECT_EQ(home->running_calls.cancel("c1", anybody, "caller/ann"), 1u);
    pass(20ms);
    EXPECT_EQ(owner->calls.waiting, nullptr) << "it has reached the owner";
    ASSERT_TRUE(started->ended());
    EXPECT_EQ(said(started->get()), "CANCELLED");
    EXPECT_EQ(started->get().cancelled_by, "caller/ann");
    EXPECT_EQ(home->running_calls.size(), 0u);
}

TEST_F(ForwardTest, WhenHomeStopsItsCallersHearThatNobodyKnowsAndTheCallGoesOn) {
    const auto call = ask("k");
    pass(10ms);
    home->forwarder.stop_waiting();
    pass(10ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "OUTCOME_UNKNOWN");
    EXPECT_NE(owner->calls.waiting, nullptr);
    const auto late = ask();
    pass(10ms);
    ASSERT_TRUE(late->ended());
    EXPECT_EQ(said(late->get()), "UNAVAILABLE");
    EXPECT_EQ(owner->calls.ran.size(), 1u) << "which was not sent";
}

TEST_F(ForwardTest, AnOwnerKnowsWhetherItsEndsAreHeard) {
    network.cut(2, 1);
    const auto call = ask();
    pass(10ms);
    owner->calls.answer(done());
    pass(10ms);
    EXPECT_EQ(owner->owner.unheard(), 1u);
    network.heal();
    pass(1s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(owner->owner.unheard(), 0u);
}

TEST_F(ForwardTest, ALongResultComesInPieces) {
    const std::string text(5'000'000, 'x');
    const auto call = ask();
    pass(10ms);
    owner->calls.answer(core::ToolResult{.content = text});
    pass(100ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), text);
    EXPECT_EQ(owner->owner.unheard(), 0u) << "and is acknowledged";
}

TEST_F(ForwardTest, ALongResultArrivesWhateverIsLostAndDoubled) {
    network.set_faults({.lost = 200, .doubled = 200, .late = 100, .most_late = 300ms});
    const std::string text(3'000'000, 'y');
    const auto call = ask();
    pass(5s);
    owner->calls.answer(core::ToolResult{.content = text});
    pass(60s);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), text);
    EXPECT_EQ(owner->calls.ran.size(), 1u);
}

TEST_F(ForwardTest, AResultThatIsTooLongIsSaidToBeAndHasRun) {
    const auto call = ask();
    pass(10ms);
    owner->calls.answer(core::ToolResult{.content = std::string(kMostResult, 'z')});
    pass(100ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "OVERSIZE");
}

TEST_F(ForwardTest, OneHomeThatTakesNothingHoldsHalfOfTheRoomForLongResults) {
    const std::string text(20'000'000, 'x');
    constexpr int kFit = Owner::kMostOfOneHome / 20'000'000;
    network.cut(2, 1);
    owner->calls.outcome = core::ToolResult{.content = text};
    std::vector<decltype(ask())> calls;
    for (int i = 0; i <= kFit; ++i) calls.push_back(ask());
    pass(10ms);
    network.heal();
    pass(3s);
    int whole = 0, unknown = 0;
    for (const auto& call : calls) {
        ASSERT_TRUE(call->ended());
        const std::string heard = said(call->get());
        whole += heard == text ? 1 : 0;
        unknown += heard == "OUTCOME_UNKNOWN" ? 1 : 0;
    }
    EXPECT_EQ(whole, kFit);
    EXPECT_EQ(unknown, 1) << "it has run, which a repeat is told";
}

TEST_F(ForwardTest, NobodyWaitsForTheRestOfALongResultAnyMore) {
    const auto call = ask();
    pass(10ms);
    network.cut(1, 2);  // home's words are lost
    owner->calls.answer(core::ToolResult{.content = std::string(3'000'000, 'x')});
    pass(10ms);
    home->forwarder.stop_waiting();
    pass(10ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(owner->owner.unheard(), 1u);
    network.heal();
    pass(6s);
    EXPECT_EQ(owner->owner.unheard(), 0u);
}

TEST_F(ForwardTest, ProgressAndLogMessagesReachTheCallerWhoWantsThem) {
    const auto call = ask({}, {}, true);
    pass(10ms);
    ASSERT_NE(owner->calls.sink, nullptr);
    EXPECT_TRUE(owner->calls.sink->wants_progress());
    EXPECT_EQ(owner->calls.sink->wanted_log_level(), "info");
    owner->calls.sink->on_progress({.message = "warm", .progress = 0.0, .total = 2.5});
    owner->calls.sink->on_progress({.message = "hot", .progress = {}, .total = {}});
    owner->calls.sink->on_log({.level = "warning", .logger = "pan", .data = "{}"});
    pass(10ms);
    EXPECT_EQ(asked.back()->sink.heard,
              (std::vector<std::string>{"warm 0 of 2.5", "hot -1 of -1", "warning pan: {}"}));
    for (int i = 0; i < 1'000; ++i) owner->calls.sink->on_progress({.message = "?"});
    pass(10ms);
    EXPECT_LE(asked.back()->sink.heard.size(), 64u) << "a tool does not flood the bus";
    owner->calls.answer(done());
    pass(10ms);
    EXPECT_EQ(said(call->get()), "done");
}

TEST_F(ForwardTest, WhoWantsNoNewsGetsNone) {
    const auto call = ask();
    pass(10ms);
    EXPECT_FALSE(owner->calls.sink->wants_progress());
    owner->calls.sink->on_progress({.message = "warm"});
    pass(10ms);
    EXPECT_TRUE(asked.back()->sink.heard.empty());
    owner->calls.answer(done());
    pass(10ms);
    EXPECT_TRUE(call->ended());
}

TEST_F(ForwardTest, AToolThatStreamsIsRefusedAtHomeAndNothingIsSent) {
    home->directory.route->streams = true;
    const auto call = ask("k");
    pass(10ms);
    ASSERT_TRUE(call->ended());
    EXPECT_EQ(said(call->get()), "UNAVAILABLE");
    EXPECT_EQ(home->forwarder.counts().forwarded.value(), 0u);
    EXPECT_TRUE(owner->calls.ran.empty());
}

TEST_F(ForwardTest, AForeignMessageStartsNothing) {
    const bus::FleetKeys foreign = bus::FleetKeys::parse(std::string(64, '8'), "f").value();
    Side stranger(loop, foreign, network, {.node = 3, .loop = 0, .boot = 33});
    core::Call call;
    call.id = "x";
    call.tool = "dev__act";
    const std::string body =
        forward_to_wire({.id = {1, 2}, .connection = 5, .beat = 1}, call, *principal);
    EXPECT_TRUE(stranger.mail.send(kOwner, {.kind = bus::Kind::kForward}, body));
    pass(1s);
    EXPECT_TRUE(owner->calls.ran.empty());
    EXPECT_GE(owner->mail.counts().forged.value(), 1u);
    stranger.stop([] {});
    loop.settle();
}

}  // namespace
}  // namespace crab::fleet
