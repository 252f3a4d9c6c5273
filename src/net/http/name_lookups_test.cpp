#include "net/http/name_lookups.hpp"

#include "base/task/spawn.hpp"
#include "base/test_clock.hpp"
#include "net/loop/event_loop.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include <gtest/gtest.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;

/// A resolver that hangs on some names until it is told to go on.
class Resolver {
public:
    Result<std::vector<SocketAddress>> operator()(const Endpoint& endpoint) {
        std::unique_lock lock(mutex_);
        ++asked_[endpoint.host];
        changed_.notify_all();
        changed_.wait(lock, [&] { return !endpoint.host.starts_with("hang") || released_; });
        if (endpoint.host == "nobody")
            return fail(ErrorCode::kUnavailable, "cannot find host `nobody`");
        return std::vector{to_socket_address(Endpoint::tcp("127.0.0.1", endpoint.port)).value()};
    }
    void wait_until_asked(const std::string& host) {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, 10s, [&] { return asked_.contains(host); })) << host;
    }
    void release() {
        const std::scoped_lock lock(mutex_);
        released_ = true;
        changed_.notify_all();
    }
    int times(const std::string& host) {
        const std::scoped_lock lock(mutex_);
        return asked_[host];
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, int> asked_;
    bool released_ = false;
};

struct NameLookupsTest : testing::Test {
    FakeClock clock;
    EventLoop loop{clock};
    Resolver resolver;
    NameLookups names{2, [this](const Endpoint& endpoint) { return resolver(endpoint); }};

    ~NameLookupsTest() override { resolver.release(); }

    using Found = std::optional<Result<std::vector<SocketAddress>>>;
    struct Asked {
        Found found;
        CancelSignal signal;
    };
    std::shared_ptr<Asked> ask(const std::string& host, std::chrono::seconds patience = 5s,
                               std::string line = {}) {
        auto asked = std::make_shared<Asked>();
        auto ended = [asked](const std::exception_ptr&, Found found) {
            asked->found = std::move(found);
        };
        auto task = names.find(loop, Endpoint::tcp(host, 80), clock.steady_now() + patience,
                               std::move(line));
        spawn(loop.executor(), std::move(task), std::move(ended), &asked->signal);
        run_what_can_run();
        return asked;
    }
    bool ends(const Asked& asked) {
        const auto until = std::chrono::steady_clock::now() + 10s;
        while (!asked.found && std::chrono::steady_clock::now() < until) loop.run_some(10ms);
        return asked.found.has_value();
    }
    void advance(std::chrono::seconds by) {
        clock.advance(by);
        loop.post([this] { loop.timers().run_expired(); });
        run_what_can_run();
    }
    void run_what_can_run() {
        for (int i = 0; i < 3; ++i) loop.run_some(1ms);
    }
};

TEST_F(NameLookupsTest, AnAddressNeedsNoThread) {
    ask("hang-a");
    ask("hang-b");
    const auto plain = ask("127.0.0.1");
    ASSERT_TRUE(ends(*plain));
    EXPECT_TRUE(*plain->found);
}

TEST_F(NameLookupsTest, ANameThatHangsHoldsUpNoOther) {
    const auto slow = ask("hang-a");
    for (const char* host : {"a", "b", "nobody"}) {
        const auto other = ask(host);
        ASSERT_TRUE(ends(*other)) << host;
        EXPECT_EQ(other->found->has_value(), std::string_view(host) != "nobody");
    }
    EXPECT_FALSE(slow->found);
    resolver.release();
    ASSERT_TRUE(ends(*slow));
    EXPECT_TRUE(*slow->found);
}

TEST_F(NameLookupsTest, WhoAsksForANameThatIsLookedUpSharesIt) {
    std::vector<std::shared_ptr<Asked>> all;
    for (int i = 0; i < 10; ++i) all.push_back(ask("hang-a"));
    resolver.wait_until_asked("hang-a");
    const auto other = ask("b");
    ASSERT_TRUE(ends(*other)) << "they occupy one thread";
    resolver.release();
    for (const auto& each : all) {
        ASSERT_TRUE(ends(*each));
        EXPECT_TRUE(*each->found);
    }
    EXPECT_EQ(resolver.times("hang-a"), 1);
}

TEST_F(NameLookupsTest, ADeadlineHoldsForALookupThatHangsAndForOneThatHasNoThread) {
    const auto slow = ask("hang-a", 1s), slower = ask("hang-b", 2s), waiting = ask("c", 1s);
    resolver.wait_until_asked("hang-a");
    resolver.wait_until_asked("hang-b");
    advance(1s);
    for (const auto& each : {slow, waiting}) {
        ASSERT_TRUE(each->found);
        EXPECT_EQ(each->found->error().code, ErrorCode::kTimeout);
    }
    EXPECT_FALSE(slower->found);
    resolver.release();
    ASSERT_TRUE(ends(*slower));
    const auto last = ask("d");
    ASSERT_TRUE(ends(*last));
    EXPECT_EQ(resolver.times("c"), 0) << "nobody waits for it any more";
}

TEST_F(NameLookupsTest, OfALineOneNameIsLookedUpAtATime) {
    for (const char* host : {"hang-a", "hang-b", "hang-c"}) ask(host, 5s, "caller/greedy");
    const auto other = ask("a", 5s, "caller/other");
    ASSERT_TRUE(ends(*other));
    EXPECT_TRUE(*other->found);
    EXPECT_EQ(resolver.times("hang-b"), 0);
}

TEST_F(NameLookupsTest, ACancelledWaitEndsAtOnce) {
    const auto slow = ask("hang-a");
    loop.post([&] { slow->signal.emit(); });
    ASSERT_TRUE(ends(*slow));
    EXPECT_EQ(slow->found->error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace crab::net
