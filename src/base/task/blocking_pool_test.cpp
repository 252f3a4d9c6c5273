#include "base/task/blocking_pool.hpp"

#include "base/task/test_loop.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(BlockingPool, RunsTheWorkElsewhereAndResumesTheCallerAtHome) {
    TestLoop loop;
    BlockingPool pool(1);
    const auto ids =
        loop.run([](BlockingPool& pool) -> Task<std::pair<std::thread::id, std::thread::id>> {
            auto work = [] { return std::this_thread::get_id(); };
            const auto there = co_await pool.run(std::move(work));
            co_return std::pair(there, std::this_thread::get_id());
        }(pool));
    EXPECT_NE(ids.first, std::this_thread::get_id());
    EXPECT_EQ(ids.second, std::this_thread::get_id());
}

TEST(BlockingPool, WhatTheWorkThrowsReachesTheCaller) {
    TestLoop loop;
    BlockingPool pool(1);
    EXPECT_THROW(loop.run([](BlockingPool& pool) -> Task<int> {
        auto work = []() -> int { throw std::runtime_error("disk"); };
        co_return co_await pool.run(std::move(work));
    }(pool)),
                 std::runtime_error);
}

TEST(BlockingPool, CancellingTheCallerNeitherThrowsNorLosesTheResult) {
    TestLoop loop;
    BlockingPool pool(1);
    std::promise<void> begun, go_on;
    const auto waiting = loop.start(
        [](BlockingPool& pool, std::promise<void>& begun, std::promise<void>& go_on) -> Task<int> {
            auto work = [&] {
                begun.set_value();
                go_on.get_future().wait();
                return 42;
            };
            co_return co_await pool.run(std::move(work));
        }(pool, begun, go_on));
    begun.get_future().wait();
    loop.cancel(*waiting);
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return waiting->ended(); }));
    EXPECT_EQ(waiting->get(), 42);
}

TEST(BlockingPool, CancellingWorkThatHasNotBegunStillRunsIt) {
    TestLoop loop;
    BlockingPool pool(1);
    std::promise<void> go_on;
    pool.post([held = go_on.get_future().share()] { held.wait(); });
    const auto waiting = loop.start([](BlockingPool& pool) -> Task<int> {
        auto work = [] { return 42; };
        co_return co_await pool.run(std::move(work));
    }(pool));
    loop.cancel(*waiting);
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return waiting->ended(); }));
    EXPECT_EQ(waiting->get(), 42);
}

TEST(BlockingPool, CancellationAtEveryMomentDoesNoHarm) {
    TestLoop loop;
    BlockingPool pool(2);
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> ran = 0;
        const auto waiting = loop.start([](BlockingPool& pool, std::atomic<int>& ran) -> Task<int> {
            auto work = [&] { return ++ran; };
            co_return co_await pool.run(std::move(work));
        }(pool, ran));
        loop.cancel(*waiting);
        ASSERT_TRUE(loop.run_until([&] { return waiting->ended(); }));
        ASSERT_EQ(waiting->get(), 1);
        ASSERT_EQ(ran, 1);
    }
}

TEST(BlockingPool, WorkThatHasNoThreadByItsDeadlineIsNotDone) {
    using namespace std::chrono_literals;
    TestLoop loop;
    BlockingPool pool(1);
    std::promise<void> go_on;
    std::atomic<int> done = 0;
    const auto work = [&] { return ++done; };
    pool.post([held = go_on.get_future().share()] { held.wait(); });
    const auto late = loop.start(pool.run_by(work, loop.timers, loop.in(1s)));
    const auto cancelled = loop.start(pool.run_by(work, loop.timers, loop.in(9s)));
    const auto patient = loop.start(pool.run_by(work, loop.timers, loop.in(9s)));
    loop.advance(2s);
    loop.cancel(*cancelled);
    EXPECT_TRUE(late->ended() && !late->get());
    EXPECT_TRUE(cancelled->ended() && !cancelled->get());
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return patient->ended(); }));
    EXPECT_EQ(patient->get(), 1);
}

TEST(BlockingPool, WorkThatHasBegunIsWaitedForWhateverHappens) {
    using namespace std::chrono_literals;
    TestLoop loop;
    BlockingPool pool(1);
    std::promise<void> begun, go_on;
    const auto work = [&, held = go_on.get_future().share()] {
        begun.set_value();
        held.wait();
        return 7;
    };
    const auto started = loop.start(pool.run_by(work, loop.timers, loop.in(1s)));
    begun.get_future().wait();
    loop.advance(2s);
    loop.cancel(*started);
    EXPECT_FALSE(started->ended());
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return started->ended(); }));
    EXPECT_EQ(started->get(), 7);
}

TEST(BlockingPool, TheDestructorWaitsForPostedWork) {
    std::atomic<int> done = 0;
    {
        BlockingPool pool(2);
        for (int i = 0; i < 100; ++i) pool.post([&] { ++done; });
    }
    EXPECT_EQ(done, 100);
}

TEST(BlockingPool, SettlingWaitsForWhatWasPostedBefore) {
    BlockingPool pool(3);
    int ended = 0;  // no atomic: settle() is what orders it
    std::array<int, 3> each{};
    for (int& mine : each) {
        pool.post([&mine] {
            std::this_thread::yield();
            mine = 1;
        });
    }
    pool.settle();
    for (const int mine : each) ended += mine;
    EXPECT_EQ(ended, 3);
    pool.settle();
}

}  // namespace
}  // namespace crab
