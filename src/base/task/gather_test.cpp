#include "base/task/gather.hpp"

#include "base/task/test_loop.hpp"
#include "base/task/waiter.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace crab {
namespace {

using namespace std::chrono_literals;

Task<int> wait_and_give(TestLoop& loop, std::chrono::nanoseconds span, int value) {
    Waiter pause(loop.timers);
    const WaitEnd end = co_await pause.wait(loop.in(span));
    co_return end == WaitEnd::kCancelled ? -value : value;
}
Task<int> give(int value) { co_return value; }
Task<int> break_down() {
    throw std::runtime_error("broken");
    co_return 0;
}

template <class... Tasks>
Task<std::vector<int>> gather_all(Tasks... tasks) {
    std::vector<Task<int>> all;
    (all.push_back(std::move(tasks)), ...);
    return gather(std::move(all));
}

TEST(Gather, RunsAllAtOnceAndKeepsTheirOrder) {
    TestLoop loop;
    auto all =
        loop.start(gather_all(wait_and_give(loop, 2s, 1), give(2), wait_and_give(loop, 1s, 3)));
    loop.advance(1s);
    EXPECT_FALSE(all->ended());
    loop.advance(1s);
    EXPECT_EQ(all->get(), (std::vector<int>{1, 2, 3}));
}

TEST(Gather, NothingToDoIsDone) {
    TestLoop loop;
    EXPECT_TRUE(loop.start(gather(std::vector<Task<int>>()))->get().empty());
}

TEST(Gather, ACancellationReachesAllOfThem) {
    TestLoop loop;
    auto all = loop.start(gather_all(wait_and_give(loop, 1h, 1), wait_and_give(loop, 2h, 2)));
    loop.cancel(*all);
    EXPECT_EQ(all->get(), (std::vector<int>{-1, -2}));
}

TEST(Gather, WhatOneThrowsIsThrownWhenAllHaveEnded) {
    TestLoop loop;
    auto all = loop.start(gather_all(break_down(), wait_and_give(loop, 1s, 2)));
    EXPECT_FALSE(all->ended());
    loop.advance(1s);
    EXPECT_THROW(all->get(), std::runtime_error);
}

}  // namespace
}  // namespace crab
