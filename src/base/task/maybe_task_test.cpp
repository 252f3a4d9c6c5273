#include "base/task/maybe_task.hpp"

#include "base/task/test_loop.hpp"
#include "base/task/waiter.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;
using Text = std::unique_ptr<std::string>;  // not copyable

Text text(std::string of) { return std::make_unique<std::string>(std::move(of)); }

struct MaybeTaskTest : testing::Test {
    TestLoop loop;
    Waiter waiter{loop.timers};

    MaybeTask<Text> answer(bool waits) {
        if (!waits) return text("at once");
        return after_a_wait();
    }
    Task<Text> after_a_wait() {
        const WaitEnd end = co_await waiter.wait(loop.in(1s));
        if (end == WaitEnd::kExpired) throw std::runtime_error("nobody woke it");
        co_return text(end == WaitEnd::kCancelled ? "cancelled" : "later");
    }
    Task<std::string> ask(bool waits) {
        const Text given = co_await answer(waits);
        co_return *given;
    }
};

TEST_F(MaybeTaskTest, AValueIsThereWithoutASuspension) {
    const auto asked = loop.start(ask(false));
    ASSERT_TRUE(asked->ended());
    EXPECT_EQ(asked->get(), "at once");
}

TEST_F(MaybeTaskTest, ATaskIsAwaitedInTheChainOfWhoeverAwaits) {
    const auto asked = loop.start(ask(true));
    EXPECT_FALSE(asked->ended());
    waiter.wake();
    loop.settle();
    EXPECT_EQ(asked->get(), "later");

    const auto cancelled = loop.start(ask(true));
    loop.cancel(*cancelled);
    EXPECT_EQ(cancelled->get(), "cancelled");
}

TEST_F(MaybeTaskTest, WhatTheTaskThrowsReachesWhoeverAwaits) {
    const auto asked = loop.start(ask(true));
    loop.advance(2s);
    ASSERT_TRUE(asked->ended());
    EXPECT_THROW(static_cast<void>(asked->get()), std::runtime_error);
}

}  // namespace
}  // namespace crab
