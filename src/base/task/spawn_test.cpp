#include "base/task/spawn.hpp"

#include "base/scope_exit.hpp"
#include "base/task/test_loop.hpp"
#include "base/task/waiter.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

Task<int> number(int value) { co_return value; }
Task<int> sum_of(int depth) {
    if (depth == 0) co_return 0;
    co_return 1 + co_await sum_of(depth - 1);
}
Task<std::unique_ptr<int>> owned(int value) { co_return std::make_unique<int>(value); }
Task<int> breaks() {
    throw std::runtime_error("the reason");
    co_return 0;
}
Task<bool> wait_on(Waiter& waiter) {
    co_return co_await waiter.wait(kNoDeadline) == WaitEnd::kCancelled;
}

struct SpawnTest : testing::Test {
    TestLoop loop;
    Waiter waiter{loop.timers};
};

TEST_F(SpawnTest, ATaskBeginsWhenItIsAwaited) {
    bool begun = false;
    const auto note = [](bool& noted) -> Task<int> {
        noted = true;
        co_return 1;
    };
    { const Task<int> dropped = note(begun); }
    EXPECT_FALSE(begun);
    EXPECT_EQ(loop.run(note(begun)), 1);
    EXPECT_TRUE(begun);
}

TEST_F(SpawnTest, ValuesComeBackThroughAnyDepthWithoutAStack) {
    EXPECT_EQ(loop.run(sum_of(100'000)), 100'000);
    EXPECT_EQ(*loop.run(owned(7)), 7);
}

TEST_F(SpawnTest, WhatATaskThrowsReachesWhoeverAwaitsIt) {
    const auto caught = loop.run([]() -> Task<std::string> {
        try {
            co_await breaks();
        } catch (const std::runtime_error& failure) {
            co_return failure.what();
        }
        co_return "nothing";
    }());
    EXPECT_EQ(caught, "the reason");
    EXPECT_THROW(loop.run(breaks()), std::runtime_error);
}

TEST_F(SpawnTest, OnItsOwnThreadATaskRunsAtOnceUpToItsFirstWait) {
    int at = 0;
    asio::post(loop.io, [&] {
        spawn(loop.executor(), number(1),
              [&](std::exception_ptr, std::optional<int> value) { at = *value; });
        EXPECT_EQ(at, 1);
    });
    loop.settle();
    EXPECT_EQ(at, 1);
}

TEST_F(SpawnTest, FromAnotherThreadItRunsOnItsOwn) {
    std::thread::id ran;
    std::jthread([&] {
        spawn(
            loop.executor(),
            [](std::thread::id& on) -> Task<void> {
                on = std::this_thread::get_id();
                co_return;
            }(ran),
            [](const std::exception_ptr&) {});
    }).join();
    loop.settle();
    EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST_F(SpawnTest, ACancelledChainEndsTheWaitUnderWayHoweverDeepAndLaterOnesAtOnce) {
    const auto outer = [](Waiter& first) -> Task<int> {
        co_return static_cast<int>(co_await wait_on(first)) +
            static_cast<int>(co_await wait_on(first));
    };
    const auto started = loop.start(outer(waiter));
    loop.cancel(*started);
    EXPECT_EQ(started->get(), 2);
}

TEST_F(SpawnTest, AChainThatForgetsItsCancellationWaitsAgain) {
    const auto started = loop.start([](Waiter& one) -> Task<int> {
        int cancelled = co_await wait_on(one) ? 1 : 0;
        (co_await this_chain()).forget_cancellation();
        cancelled += co_await wait_on(one) ? 1 : 0;
        co_return cancelled;
    }(waiter));
    loop.cancel(*started);
    EXPECT_FALSE(started->ended());
    waiter.wake();
    EXPECT_EQ(started->get(), 1);
}

TEST_F(SpawnTest, ASignalIsHarmlessBeforeAndAfterItsChain) {
    CancelSignal signal;
    signal.emit();
    spawn(
        loop.executor(), number(1), [](const std::exception_ptr&, std::optional<int>) {}, &signal);
    loop.settle();
    signal.emit();
    {
        CancelSignal short_lived;
        spawn(
            loop.executor(), wait_on(waiter), [](const std::exception_ptr&, std::optional<bool>) {},
            &short_lived);
        loop.settle();
    }
    waiter.wake();
}

TEST_F(SpawnTest, WhoeverHearsOfTheEndMayDestroyAllThatTheTaskUsed) {
    auto used = std::make_unique<Waiter>(loop.timers);
    spawn(loop.executor(), wait_on(*used),
          [&](const std::exception_ptr&, std::optional<bool>) { used.reset(); });
    loop.settle();
    used->wake();
    EXPECT_EQ(used, nullptr);
}

TEST_F(SpawnTest, PassTurnLetsOthersGoFirst) {
    std::vector<int> order;
    const auto mark = [](std::vector<int>& marks, int first, int second) -> Task<void> {
        marks.push_back(first);
        co_await yield_to_loop();
        marks.push_back(second);
    };
    spawn(loop.executor(), mark(order, 1, 3), [](const std::exception_ptr&) {});
    spawn(loop.executor(), mark(order, 2, 4), [](const std::exception_ptr&) {});
    loop.settle();
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

TEST(SpawnEndOfLoop, TasksThatStillWaitAreDestroyedWithTheirLoopInnermostLast) {
    std::vector<std::string> gone;
    {
        TestLoop loop;
        const auto inner = [](TestLoop& on, std::vector<std::string>& names) -> Task<void> {
            const ScopeExit leave([&] { names.push_back("inner"); });
            Waiter here(on.timers);   // in the frame that waits on it
            co_await here.wait(on.in(1h));
            ADD_FAILURE() << "nobody woke it";
        };
        const auto outer = [inner](TestLoop& on, std::vector<std::string>& names) -> Task<void> {
            const ScopeExit leave([&] { names.push_back("outer"); });
            co_await inner(on, names);
        };
        spawn(loop.executor(), outer(loop, gone),
              [](const std::exception_ptr&) { ADD_FAILURE() << "it did not end"; });
        loop.settle();
        EXPECT_TRUE(gone.empty());
    }
    EXPECT_EQ(gone, (std::vector<std::string>{"inner", "outer"}));
}

TEST(SpawnEndOfLoop, ATaskThatNeverBeganIsDestroyedToo) {
    const auto held = std::make_shared<int>(1);
    {
        TestLoop loop;
        spawn(
            loop.executor(),
            [](std::shared_ptr<int> kept) -> Task<void> {
                *kept = 2;
                co_return;
            }(held),
            [](const std::exception_ptr&) {});
        EXPECT_EQ(held.use_count(), 2);
    }
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_EQ(*held, 1);
}

TEST(FramePool, FramesOfAnySizeComeBackAndGoOutAgainOnAnyThread) {
    std::vector<std::pair<void*, std::size_t>> frames;
    for (std::size_t size = 1; size <= 5'000; size += 37) {
        void* const frame = FramePool::take(size);
        std::memset(frame, 0x5a, size);
        frames.emplace_back(frame, size);
    }
    std::jthread([&] {
        for (const auto& [frame, size] : frames) FramePool::give(frame, size);
        for (auto& [frame, size] : frames) frame = FramePool::take(size);
    }).join();
    for (const auto& [frame, size] : frames) FramePool::give(frame, size);
}

}  // namespace
}  // namespace crab
