#include "core/call/running_calls.hpp"

#include "base/task/test_loop.hpp"
#include "base/task/waiter.hpp"
#include "core/call/test_tools.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

struct RunningCallsTest : testing::Test {
    TestLoop loop;
    RunningCalls calls{loop.executor(), loop.clock};

    /// A call that waits until it is cancelled.
    struct Front {
        Call call;
        PrincipalRef principal;
        CancelSignal canceller;
        std::shared_ptr<Started<bool>> running;
    };
    static Task<bool> body(RunningCalls& calls, TimerWheel& timers, Front& front) {
        RunningCalls::Entry entry(calls, front.call, *front.principal);
        entry.reach(Stage::kDispatched);
        Waiter waiter(timers);
        co_await waiter.wait(kNoDeadline);
        co_return entry.cancelled_by_id();
    }
    std::unique_ptr<Front> begin(std::string_view id, std::string principal = "caller/ann",
                                 bool with_canceller = true) {
        auto front = std::make_unique<Front>();
        front->call.id = id;
        front->call.tool = "echo";
        front->call.tenant = "acme";
        front->call.front = "http";
        front->call.timeline.start(loop.clock.steady_now(), loop.clock.system_now());
        front->principal = principal_of(std::move(principal));
        front->running = loop.start(body(calls, loop.timers, *front));
        if (with_canceller) front->call.canceller = &front->running->signal;
        return front;
    }
    static bool anybody(const Principal&, std::string_view) { return true; }
};

TEST_F(RunningCallsTest, ListsWhatRunsNow) {
    const auto one = begin("c1"), two = begin("c2");
    loop.clock.advance(3s);
    const auto listed = calls.list();
    ASSERT_EQ(listed.size(), 2u);
    EXPECT_EQ(listed[1].call_id, "c1");
    EXPECT_EQ(listed[1].tool, "echo");
    EXPECT_EQ(listed[1].principal, "caller/ann");
    EXPECT_EQ(listed[1].tenant, "acme");
    EXPECT_EQ(listed[1].front, "http");
    EXPECT_EQ(listed[1].stage, Stage::kDispatched);
    EXPECT_EQ(listed[1].elapsed, 3s);
    loop.cancel(*one->running);
    EXPECT_EQ(calls.size(), 1u);
    EXPECT_FALSE(one->running->get());
    loop.cancel(*two->running);
    EXPECT_TRUE(calls.list().empty());
}

TEST_F(RunningCallsTest, CancelEndsEveryCallWithTheIdAndNoOther) {
    const auto one = begin("c1"), twin = begin("c1", "caller/bob"), other = begin("c2");
    EXPECT_EQ(calls.cancel("c1", anybody), 2u);
    EXPECT_FALSE(one->running->ended()) << "it happens on the loop";
    loop.settle();
    EXPECT_TRUE(one->running->get());
    EXPECT_TRUE(twin->running->get());
    EXPECT_FALSE(other->running->ended());
    EXPECT_EQ(calls.cancel("c1", anybody), 0u);
    loop.cancel(*other->running);
}

TEST_F(RunningCallsTest, WhoMayNotCancelFindsNothing) {
    const auto one = begin("c1"), twin = begin("c1", "caller/bob");
    const auto only_ann = [](const Principal& who, std::string_view tenant) {
        return who.id == "caller/ann" && tenant == "acme";
    };
    EXPECT_EQ(calls.cancel("c1", only_ann), 1u);
    loop.settle();
    EXPECT_TRUE(one->running->ended());
    EXPECT_FALSE(twin->running->ended());
    loop.cancel(*twin->running);
}

TEST_F(RunningCallsTest, ACallWithoutACancellerDoesNotProtectItsTwins) {
    const auto twin = begin("c1"), without = begin("c1", "caller/ann", false);
    calls.cancel("c1", anybody);
    loop.settle();
    EXPECT_TRUE(twin->running->ended());
    EXPECT_FALSE(without->running->ended());
    loop.cancel(*without->running);
}

TEST_F(RunningCallsTest, ACallThatEndsBeforeTheLoopHearsOfItIsLeftAlone) {
    const auto one = begin("c1");
    asio::post(loop.io, [&] { one->running->signal.emit(); });
    EXPECT_EQ(calls.cancel("c1", anybody), 1u);
    loop.settle();
    EXPECT_TRUE(one->running->ended());
    EXPECT_EQ(calls.size(), 0u);
}

TEST_F(RunningCallsTest, OtherThreadsMayListAndCancel) {
    for (int round = 0; round < 50; ++round) {
        const auto one = begin("c1"), two = begin("c2");
        std::jthread other([&] {
            calls.list();
            calls.cancel("c1", anybody);
            calls.cancel("c2", anybody);
            calls.list();
        });
        ASSERT_TRUE(loop.run_until([&] { return one->running->ended() && two->running->ended(); }));
    }
}

}  // namespace
}  // namespace crab::core
