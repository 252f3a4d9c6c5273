#include "base/task/waiter.hpp"

#include "base/task/test_loop.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

struct WaiterTest : testing::Test {
    TestLoop loop;
    Waiter waiter{loop.timers};
};

TEST_F(WaiterTest, WakeResumesTheCoroutineBeforeItReturns) {
    const auto waiting = loop.start(waiter.wait(kNoDeadline));
    EXPECT_TRUE(waiter.waiting());
    bool resumed = false;
    asio::post(loop.io, [&] {
        waiter.wake();
        resumed = waiting->ended();
    });
    loop.settle();
    EXPECT_TRUE(resumed);
    EXPECT_EQ(waiting->get(), WaitEnd::kWoken);
}

TEST_F(WaiterTest, AWakeBeforeTheWaitIsNotLostAndCountsOnce) {
    waiter.wake();
    waiter.wake();
    EXPECT_EQ(loop.start(waiter.wait(kNoDeadline))->get(), WaitEnd::kWoken);
    const auto second = loop.start(waiter.wait(loop.in(1s)));
    EXPECT_FALSE(second->ended());
    loop.advance(1s + TimerWheel::kTick);
    EXPECT_EQ(second->get(), WaitEnd::kExpired);
}

TEST_F(WaiterTest, APassedDeadlineEndsTheWaitAndTheWaiterServesAgain) {
    const auto first = loop.start(waiter.wait(loop.in(-1s)));
    loop.advance(TimerWheel::kTick);
    EXPECT_EQ(first->get(), WaitEnd::kExpired);
    const auto second = loop.start(waiter.wait(loop.in(1s)));
    waiter.wake();
    loop.settle();
    EXPECT_EQ(second->get(), WaitEnd::kWoken);
    EXPECT_EQ(loop.timers.next_wakeup(), std::nullopt);
}

TEST_F(WaiterTest, CancellationEndsTheWaitWithoutThrowing) {
    const auto waiting = loop.start(waiter.wait(loop.in(1s)));
    loop.cancel(*waiting);
    EXPECT_EQ(waiting->get(), WaitEnd::kCancelled);
    EXPECT_FALSE(waiter.waiting());
    EXPECT_EQ(loop.timers.next_wakeup(), std::nullopt);
}

TEST_F(WaiterTest, AWaitThatBeginsAfterTheCancellationEndsAtOnce) {
    const auto twice = loop.start([](Waiter& waiter) -> Task<int> {
        int cancelled = 0;
        for (int i = 0; i < 2; ++i)
            cancelled += co_await waiter.wait(kNoDeadline) == WaitEnd::kCancelled;
        co_return cancelled;
    }(waiter));
    loop.cancel(*twice);
    EXPECT_EQ(twice->get(), 2);
}

TEST_F(WaiterTest, AnotherThreadsWakeResumesOnTheLoopsThread) {
    auto remote = std::make_shared<RemoteWaiter>(loop.executor(), loop.timers);
    const auto waiting =
        loop.start([](std::shared_ptr<RemoteWaiter> waiter) -> Task<std::thread::id> {
            const WaitEnd end = co_await waiter->wait(kNoDeadline);
            EXPECT_EQ(end, WaitEnd::kWoken);
            co_return std::this_thread::get_id();
        }(remote));
    std::jthread other([remote] { remote->wake(); });
    ASSERT_TRUE(loop.run_until([&] { return waiting->ended(); }));
    EXPECT_EQ(waiting->get(), std::this_thread::get_id());
}

TEST_F(WaiterTest, AnotherThreadsWakeBeforeTheWaitIsNotLost) {
    auto remote = std::make_shared<RemoteWaiter>(loop.executor(), loop.timers);
    std::jthread([remote] { remote->wake(); }).join();
    loop.settle();
    EXPECT_EQ(loop.start(remote->wait(kNoDeadline))->get(), WaitEnd::kWoken);
}

TEST_F(WaiterTest, ManyThreadsMayWakeWhileTheLoopWaits) {
    auto remote = std::make_shared<RemoteWaiter>(loop.executor(), loop.timers);
    constexpr int kThreads = 4, kWakes = 500;
    const auto waiting = loop.start([](std::shared_ptr<RemoteWaiter> waiter) -> Task<int> {
        int woken = 0;
        while (co_await waiter->wait(kNoDeadline) == WaitEnd::kWoken) ++woken;
        co_return woken;
    }(remote));
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([remote] {
                for (int k = 0; k < kWakes; ++k) remote->wake();
            });
        }
    }
    loop.settle();
    loop.cancel(*waiting);
    EXPECT_EQ(waiting->get(), kThreads * kWakes);
}

}  // namespace
}  // namespace crab
