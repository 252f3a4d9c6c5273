#include "base/task/wakeup.hpp"

#include "base/task/test_loop.hpp"

#include <gtest/gtest.h>

namespace crab {
namespace {

struct WakeupTest : testing::Test {
    TestLoop loop;
    Wakeup wakeup;

    Task<int> count_until_cancelled() {
        TaskChain& chain = co_await this_chain();
        while (!chain.cancelled()) {
            co_await wakeup.wait();
            ++woken;
        }
        co_return woken;
    }
    int woken = 0;
};

TEST_F(WakeupTest, IsRememberedResumesAtOnceAndCanBeCancelled) {
    wakeup.wake();
    const auto counting = loop.start(count_until_cancelled());
    EXPECT_TRUE(wakeup.waiting());
    EXPECT_EQ(woken, 1);
    wakeup.wake();
    EXPECT_EQ(woken, 2);
    loop.cancel(*counting);
    EXPECT_EQ(counting->get(), 3);
}

TEST_F(WakeupTest, AWaitThatBeginsInACancelledTaskEndsAtOnce) {
    const auto wait_twice = [](Wakeup& never) -> Task<WaitEnd> {
        co_await never.wait();
        co_return co_await never.wait();  // nobody interrupts this one
    };
    const auto waiting = loop.start(wait_twice(wakeup));
    loop.cancel(*waiting);
    EXPECT_EQ(waiting->get(), WaitEnd::kCancelled);
    EXPECT_FALSE(wakeup.waiting());
}

TEST_F(WakeupTest, WhatWasRememberedMayBeForgotten) {
    wakeup.wake();
    wakeup.reset();
    const auto waiting = loop.start(wakeup.wait());
    EXPECT_FALSE(waiting->ended());
    wakeup.wake();
    loop.settle();
    EXPECT_EQ(waiting->get(), WaitEnd::kWoken);
}

TEST_F(WakeupTest, ItMayGoWithTheTaskThatWaits) {
    {
        Wakeup passing;
        const auto waiting = loop.start(passing.wait());
        passing.wake();
        loop.settle();
        EXPECT_EQ(waiting->get(), WaitEnd::kWoken);
    }
    const auto next = loop.start(wakeup.wait());
    loop.cancel(*next);
    EXPECT_EQ(next->get(), WaitEnd::kCancelled);
}

}  // namespace
}  // namespace crab
