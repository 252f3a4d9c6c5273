#include "base/task/run_on.hpp"

#include "base/task/test_loop.hpp"
#include "base/task/wakeup.hpp"

#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace crab {
namespace {

Task<std::thread::id> where() { co_return std::this_thread::get_id(); }
Task<int> throwing() {
    throw std::runtime_error("there");
    co_return 0;
}
Task<bool> wait_for_cancellation() {
    Wakeup wakeup;
    co_return co_await wakeup.wait() == WaitEnd::kCancelled;
}

/// A loop with a thread of its own.
struct OtherLoop {
    asio::io_context io{1};
    asio::executor_work_guard<Executor> work{io.get_executor()};
    std::jthread thread{[this] { io.run(); }};
    ~OtherLoop() { work.reset(); }
};

TEST(RunOn, TheTaskRunsThereAndItsResultComesBackHere) {
    TestLoop here;
    OtherLoop there;
    const auto both = [&]() -> Task<std::pair<std::thread::id, std::thread::id>> {
        const auto ran = co_await run_on(there.io.get_executor(), where());
        co_return std::pair(ran, std::this_thread::get_id());
    };
    const auto [ran, resumed] = here.run(both());
    EXPECT_EQ(ran, there.thread.get_id());
    EXPECT_EQ(resumed, std::this_thread::get_id());
}

TEST(RunOn, OnTheOwnLoopItIsAnOrdinaryAwait) {
    TestLoop here;
    EXPECT_EQ(here.run(run_on(here.executor(), where())), std::this_thread::get_id());
}

TEST(RunOn, WhatItThrowsArrivesHere) {
    TestLoop here;
    OtherLoop there;
    EXPECT_THROW(here.run(run_on(there.io.get_executor(), throwing())), std::runtime_error);
}

TEST(RunOn, ACancellationReachesTheTaskAndItsEndIsWaitedFor) {
    TestLoop here;
    OtherLoop there;
    const auto started = here.start(run_on(there.io.get_executor(), wait_for_cancellation()));
    EXPECT_FALSE(started->ended());
    here.cancel(*started);
    ASSERT_TRUE(here.run_until([&] { return started->ended(); }));
    EXPECT_TRUE(started->get());
}

TEST(RunOn, ACancellationBeforeItBeginsReachesTheTaskToo) {
    TestLoop here;
    OtherLoop there;
    const auto late = [&]() -> Task<bool> {
        (co_await this_chain()).cancel();
        co_return co_await run_on(there.io.get_executor(), wait_for_cancellation());
    };
    EXPECT_TRUE(here.run(late()));
}

}  // namespace
}  // namespace crab
