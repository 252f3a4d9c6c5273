#include "base/test_clock.hpp"

#include <ctime>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(Rfc3339Text, AgreesWithStrftimeOverRandomTimes) {
    std::mt19937_64 random(11);
    // milliseconds; 1684 to 2255
    std::uniform_int_distribution<std::int64_t> any(-9'000'000'000'000, 9'000'000'000'000);
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t ms = any(random);
        const std::int64_t within = ((ms % 1000) + 1000) % 1000;
        const std::time_t seconds = (ms - within) / 1000;
        std::tm parts{};
        ASSERT_NE(::gmtime_r(&seconds, &parts), nullptr);
        char text[32];
        ASSERT_GT(std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts), 0u);
        const SystemTime time{Milliseconds(ms)};
        ASSERT_EQ(to_rfc3339(time), fmt::format("{}.{:03}Z", text, within)) << ms;
        ASSERT_EQ(to_unix_ms(time), ms);
    }
}

TEST(Rfc3339Text, WritesTheExampleOfItsDescription) {
    EXPECT_EQ(to_rfc3339(SystemTime(Milliseconds(1'795'253'400'250))), "2026-11-21T09:30:00.250Z");
    EXPECT_EQ(Rfc3339Text(SystemTime(std::chrono::nanoseconds(999'999'999))).view(),
              "1970-01-01T00:00:00.999Z");
}

TEST(FakeClock, MovesBothTimesByHandOnly) {
    FakeClock clock;
    const auto steady = clock.steady_now();
    const auto system = clock.system_now();
    EXPECT_EQ(clock.steady_now(), steady);
    clock.advance(std::chrono::hours(3));
    EXPECT_EQ(clock.steady_now() - steady, std::chrono::hours(3));
    EXPECT_EQ(clock.system_now() - system, std::chrono::hours(3));
}

}  // namespace
}  // namespace crab
