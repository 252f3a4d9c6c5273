#include "sdk/backoff.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

#include <array>

namespace crab::sdk {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, StaysBetweenHalfAndAllOfADelayThatDoublesTo30Seconds) {
    const FakeClock clock;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        IdSource random(clock, seed);
        Backoff backoff;
        for (const auto longest : std::array<Milliseconds, 7>{1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
            const Milliseconds wait = backoff.next(random);
            ASSERT_GE(wait, longest / 2) << "seed " << seed;
            ASSERT_LE(wait, longest) << "seed " << seed;
        }
    }
}

TEST(Backoff, SpreadsItsWaitsOverTheWholeRange) {
    const FakeClock clock;
    std::array<int, 5> tenths{};
    for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
        IdSource random(clock, seed);
        const auto over = (Backoff().next(random) - 500ms).count();
        ++tenths.at(static_cast<std::size_t>(std::min<std::int64_t>(over / 100, 4)));
    }
    for (const int count : tenths) EXPECT_NEAR(count, 1'000, 150);
}

}  // namespace
}  // namespace crab::sdk
