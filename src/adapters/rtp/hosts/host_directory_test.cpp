#include "adapters/rtp/hosts/host_directory.hpp"

#include "base/test_clock.hpp"
#include "core/call/test_tools.hpp"
#include "net/http/test_support.hpp"

#include <mutex>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using namespace std::chrono_literals;

/// A host whose list the test sets; an empty one is a failure.
class ListService : public net::HttpService {
public:
    Task<void> serve(net::HttpExchange& exchange) override {
        const std::scoped_lock lock(mutex_);
        ++asked_;
        if (list_.empty()) {
            exchange.respond(500, "text/plain", "");
        } else {
            exchange.respond(200, "application/json", list_);
        }
        co_return;
    }
    void offer(std::initializer_list<std::string_view> names) {
        std::string list = R"({"version":"v1","service":"s","tools":[)";
        for (const std::string_view name : names) {
            if (!list.ends_with('[')) list += ',';
            list += fmt::format(R"({{"name":"{}","description":"d","input_schema":{{}}}})", name);
        }
        const std::scoped_lock lock(mutex_);
        list_ = list + "]}";
    }
    void fail() {
        const std::scoped_lock lock(mutex_);
        list_.clear();
    }
    int asked() {
        const std::scoped_lock lock(mutex_);
        return asked_;
    }

private:
    std::mutex mutex_;
    std::string list_;
    int asked_ = 0;
};

class HostDirectoryTest : public testing::Test {
protected:
    ~HostDirectoryTest() override { directory->stop(); }
    RtpHost::Options far() {
        RtpHost::Options options;
        options.name = "far";
        options.authority.server.addresses = {*net::to_socket_address(server.endpoint())};
        return options;
    }
    void start() {
        std::vector<RtpHost::Options> hosts;
        hosts.push_back(far());
        directory = std::make_unique<HostDirectory>(
            HostDirectory::Services{
                .registry = registry, .schemas = pool, .home = home.loop, .loops = {&home.loop}},
            std::move(hosts));
        directory->start();
    }
    std::vector<std::string> names(std::uint64_t host = 0) {
        std::vector<std::string> all;
        for (const auto& tool : registry.owned_by(ConnectionId{(std::uint64_t{1} << 63) + host}))
            all.push_back(tool->unique_name);
        return all;
    }
    /// Lets time pass in steps until `done()`, and tells how much did.
    std::chrono::nanoseconds pass_until(const std::function<bool()>& done,
                                        std::chrono::nanoseconds step) {
        std::chrono::nanoseconds passed{0};
        const auto patience =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(net::test::kPatienceMs);
        while (!done()) {
            if (std::chrono::steady_clock::now() > patience) {
                ADD_FAILURE() << "it did not come to that";
                break;
            }
            home.advance(clock, step);
            passed += step;
            // What the step has begun, other threads have a part in: the server's, and the one that
            // reads the list.
            for (int i = 0; i < 20 && !done(); ++i)
                std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return passed;
    }

    FakeClock clock;
    RealClock real;
    ListService service;
    net::test::ServerThread server{real, service, {}, true};
    core::Registry registry;
    FairPool pool{1};
    net::test::LoopThread home{clock};
    std::unique_ptr<HostDirectory> directory;
};

TEST_F(HostDirectoryTest, AListReplacesTheHostsToolsInOneStep) {
    service.offer({"a", "b"});
    start();
    pass_until([&] { return names().size() == 2; }, 0s);
    EXPECT_EQ(names(), (std::vector<std::string>{"far__a", "far__b"}));
    service.offer({"b", "c", "d"});
    EXPECT_LE(pass_until([&] { return names().size() == 3; }, 1s), 200s);
    EXPECT_EQ(names(), (std::vector<std::string>{"far__b", "far__c", "far__d"}));
    EXPECT_TRUE(directory->status().at(0).answers);
    // counted once all are registered
    pass_until([&] { return directory->status().at(0).tools == 3; }, 0s);
}

TEST_F(HostDirectoryTest, AToolWithAReservedNameHasItsQualifiedNameOnly) {
    registry.reserve("a");
    service.offer({"a", "b"});
    start();
    pass_until([&] { return !names().empty(); }, 0s);
    EXPECT_EQ(names(), (std::vector<std::string>{"far__a", "far__b"}));
    const auto policy = core::policy_of();
    const auto principal = core::principal_of("caller/ci");
    const core::View view{.principal = principal.get(),
                          .policy = policy.get(),
                          .tenant = {},
                          .prefer_source = {},
                          .prefer = {}};
    std::vector<std::string> listed;
    for (const auto& one : registry.snapshot()->list(view)) listed.push_back(one.name);
    EXPECT_EQ(listed, (std::vector<std::string>{"b", "far__a"}));
    EXPECT_TRUE(registry.snapshot()->resolve(view, "far__a"));
    EXPECT_FALSE(registry.snapshot()->resolve(view, "a"));
    service.offer({"b"});
    pass_until([&] { return names().size() == 1; }, 1s);
    EXPECT_EQ(registry.snapshot()->size(), 1u);
}

TEST_F(HostDirectoryTest, ASilentHostIsAskedAgainAndLosesItsToolsAfterFiveMinutesOnly) {
    service.offer({"a"});
    start();
    pass_until([&] { return !names().empty(); }, 0s);
    service.fail();
    const int asked = service.asked();
    const auto silent_for = pass_until([&] { return names().empty(); }, 1s);
    EXPECT_GE(silent_for, 298s);
    EXPECT_GE(service.asked(), asked + 6);
    EXPECT_FALSE(directory->status().at(0).answers);
    EXPECT_NE(directory->status().at(0).problem, "");
    service.offer({"a"});
    EXPECT_LE(pass_until([&] { return !names().empty(); }, 1s), 200s);
}

TEST_F(HostDirectoryTest, AHostThatWasNotThereAtFirstAppears) {
    service.fail();
    start();
    pass_until([&] { return service.asked() >= 3; }, 100ms);
    EXPECT_TRUE(names().empty());
    service.offer({"late"});
    pass_until([&] { return !names().empty(); }, 100ms);
    EXPECT_EQ(names(), (std::vector<std::string>{"far__late"}));
}

TEST_F(HostDirectoryTest, AHostThatIsRemovedLosesItsToolsAtOnceAndMayComeBack) {
    service.offer({"a"});
    start();
    pass_until([&] { return !names().empty(); }, 0s);
    directory->remove("far");
    home.run([] {});
    EXPECT_TRUE(names().empty());
    EXPECT_TRUE(directory->status().empty());
    directory->remove("far");  // there is none any more
    directory->add(far());
    pass_until([&] { return !names(1).empty(); }, 0s);
    EXPECT_EQ(names(1), (std::vector<std::string>{"far__a"}));
}

TEST_F(HostDirectoryTest, AHostThatWasAddedBeforeTheStartIsAskedOnceAndANameThatIsTakenStaysTaken) {
    service.offer({"a"});
    directory = std::make_unique<HostDirectory>(
        HostDirectory::Services{
            .registry = registry, .schemas = pool, .home = home.loop, .loops = {&home.loop}},
        std::vector<RtpHost::Options>());
    directory->add(far());
    directory->add(far());
    home.run([] {});
    EXPECT_EQ(service.asked(), 0);
    directory->start();
    pass_until([&] { return !names().empty(); }, 0s);
    EXPECT_EQ(service.asked(), 1);
    EXPECT_EQ(directory->status().size(), 1u);
}

TEST_F(HostDirectoryTest, AHostWhoseConnectionsProveNothingAnyMoreIsAskedAnew) {
    service.offer({"a"});
    start();
    pass_until([&] { return !names().empty(); }, 0s);
    service.offer({"b"});
    directory->reconnect("far");
    pass_until([&] { return names() == std::vector<std::string>{"far__b"}; }, 100ms);
}

}  // namespace
}  // namespace crab::rtp
