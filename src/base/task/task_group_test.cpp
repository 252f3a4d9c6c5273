#include "base/task/task_group.hpp"

#include "base/scope_exit.hpp"
#include "base/task/test_loop.hpp"
#include "base/task/waiter.hpp"

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

Task<void> wait_for(Waiter& waiter) { co_await waiter.wait(kNoDeadline); }
Task<void> wait_then_wake(Waiter& waiter, Waiter& other) {
    co_await waiter.wait(kNoDeadline);
    other.wake();
}

struct TaskGroupTest : testing::Test {
    TestLoop loop;
    Waiter first{loop.timers}, second{loop.timers}, third{loop.timers};

    /// On the loop's thread, where tasks end at once.
    template <class F>
    void on_loop(F&& work) {
        asio::post(loop.io, std::forward<F>(work));
        loop.settle();
    }
};

TEST_F(TaskGroupTest, ATaskRunsUpToItsFirstWaitAndIsForgottenAtItsEnd) {
    TaskGroup group(loop.executor());
    on_loop([&] {
        group.spawn("waits", wait_for(first));
        EXPECT_TRUE(first.waiting());
    });
    EXPECT_EQ(group.size(), 1u);
    on_loop([&] { first.wake(); });
    EXPECT_EQ(group.size(), 0u);
}

TEST_F(TaskGroupTest, WhatATaskThrowsIsLoggedAndLeavesTheLoopRunning) {
    TaskGroup group(loop.executor());
    testing::internal::CaptureStderr();
    on_loop([&] {
        group.spawn("breaks", []() -> Task<void> {
            throw std::runtime_error("the reason");
            co_return;
        }());
    });
    const std::string logged = testing::internal::GetCapturedStderr();
    EXPECT_NE(logged.find("task=breaks"), std::string::npos) << logged;
    EXPECT_NE(logged.find("the reason"), std::string::npos) << logged;
    EXPECT_EQ(group.size(), 0u);
}

TEST_F(TaskGroupTest, StopEndsEveryTaskBeforeItSaysSo) {
    TaskGroup group(loop.executor());
    bool stopped = false;
    on_loop([&] {
        group.spawn("one", wait_for(first));
        group.spawn("two", wait_for(second));
    });
    on_loop([&] { group.stop([&] { stopped = group.size() == 0; }); });
    EXPECT_TRUE(stopped);
}

TEST_F(TaskGroupTest, StopOfAnEmptyGroupIsDoneAtOnce) {
    TaskGroup group(loop.executor());
    bool stopped = false;
    group.stop([&] { stopped = true; });
    EXPECT_TRUE(stopped);
}

TEST_F(TaskGroupTest, ATaskThatEndsItsNeighbourWhileAllAreCancelledDoesNoHarm) {
    TaskGroup group(loop.executor());
    bool stopped = false;
    on_loop([&] {
        group.spawn("one", wait_then_wake(first, second));  // its end is the next one's end
        group.spawn("two", wait_for(second));
        group.spawn("three", wait_for(third));
    });
    on_loop([&] { group.stop([&] { stopped = true; }); });
    EXPECT_TRUE(stopped);
    EXPECT_EQ(group.size(), 0u);
}

TEST_F(TaskGroupTest, WhoeverStopsAGroupMayDestroyItWhenToldSo) {
    auto group = std::make_unique<TaskGroup>(loop.executor());
    on_loop([&] {
        group->spawn("one", wait_for(first));
        group->spawn("two", wait_for(second));
    });
    on_loop([&] { group->stop([&] { group.reset(); }); });
    EXPECT_EQ(group, nullptr);
}

TEST_F(TaskGroupTest, ATaskMayStopItsOwnGroup) {
    TaskGroup group(loop.executor());
    bool stopped = false;
    on_loop([&] {
        group.spawn("waits", wait_for(first));
        group.spawn("stops", [](TaskGroup& group, bool& stopped) -> Task<void> {
            group.stop([&] { stopped = true; });
            co_return;
        }(group, stopped));
    });
    EXPECT_TRUE(stopped);
    EXPECT_EQ(group.size(), 0u);
}

TEST_F(TaskGroupTest, ATaskThatIsCancelledBeforeItBeginsNeverDoes) {
    TaskGroup group(loop.executor());
    bool begun = false, stopped = false;
    asio::post(loop.io, [&] { group.stop([&] { stopped = true; }); });
    // not on the loop: it begins when its time comes
    group.spawn("early", [](bool& begun) -> Task<void> {
        begun = true;
        co_return;
    }(begun));
    loop.settle();
    EXPECT_TRUE(stopped);
    EXPECT_FALSE(begun);
}

TEST_F(TaskGroupTest, ATaskMaySpawnAnotherWhileItIsCancelled) {
    TaskGroup group(loop.executor());
    on_loop([&] {
        group.spawn("spawns", [](TaskGroup& group, Waiter& mine, Waiter& other) -> Task<void> {
            co_await mine.wait(kNoDeadline);
            group.spawn("late", wait_for(other));
        }(group, first, second));
    });
    on_loop([&] { group.cancel(); });
    bool stopped = false;
    on_loop([&] { group.stop([&] { stopped = true; }); });
    EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace crab
