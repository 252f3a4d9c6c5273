#include "core/registry/poll_schedule.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime kStart{1h};

TEST(ListRhythmTest, WhoAnswersIsAskedEveryMinute) {
    PollSchedule rhythm({}, kStart);
    const auto next = rhythm.on_answer(kStart + 1s);
    EXPECT_EQ(next.ask, kStart + 61s);
    EXPECT_FALSE(next.changed);
}

TEST(ListRhythmTest, WhoIsSilentIsAskedSoonAndThenLessOften) {
    PollSchedule rhythm({}, kStart);
    SteadyTime now = kStart;
    std::chrono::nanoseconds longest{0};
    for (int i = 0; i < 12; ++i) {
        const auto next = rhythm.on_silence(now, false);
        EXPECT_EQ(next.changed, i == 0);
        EXPECT_FALSE(next.withdraw);
        longest = std::max<std::chrono::nanoseconds>(longest, next.ask - now);
        if (i == 0) EXPECT_EQ(next.ask - now, 1s);
        now = next.ask;
    }
    EXPECT_EQ(longest, 60s);
    EXPECT_TRUE(rhythm.on_answer(now).changed);
    EXPECT_EQ(rhythm.on_silence(now, false).ask - now, 1s);
}

TEST(ListRhythmTest, FiveMinutesOfSilenceCostTheToolsToTheMoment) {
    PollSchedule rhythm({}, kStart);
    SteadyTime now = kStart;
    for (bool has_tools = true; has_tools;) {
        const auto next = rhythm.on_silence(now, has_tools);
        EXPECT_EQ(next.withdraw, now >= kStart + 5min);
        has_tools = !next.withdraw;
        if (has_tools) {
            EXPECT_LE(next.ask, kStart + 5min);
            now = next.ask;
        }
    }
    EXPECT_EQ(now, kStart + 5min);
}

}  // namespace
}  // namespace crab::core
