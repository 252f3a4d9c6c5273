#include "base/doubling_delay.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace crab {
namespace {

using namespace std::chrono_literals;

TEST(DoublingDelayTest, DoublesUpToItsBound) {
    constexpr DoublingDelay kDelay{.first = 1s, .longest = 30s};
    EXPECT_EQ(kDelay.after(0), 0ms);
    EXPECT_EQ(kDelay.after(1), 1s);
    EXPECT_EQ(kDelay.after(2), 2s);
    EXPECT_EQ(kDelay.after(5), 16s);
    EXPECT_EQ(kDelay.after(6), 30s);
    EXPECT_EQ(kDelay.after(std::numeric_limits<std::uint64_t>::max()), 30s);
}

TEST(DoublingDelayTest, ABoundNearTheEndOfTimeDoesNotOverflow) {
    constexpr DoublingDelay kDelay{.first = 1ms, .longest = Milliseconds::max()};
    EXPECT_EQ(kDelay.after(1'000), Milliseconds::max());
}

TEST(DoublingDelayTest, TheUpperHalfHasBothItsEnds) {
    EXPECT_EQ(in_upper_half(1s, 0), 500ms);
    EXPECT_EQ(in_upper_half(1s, 500), 1s);
    EXPECT_EQ(in_upper_half(1s, 501), 500ms);
    EXPECT_EQ(in_upper_half(3ms, 2), 3ms);
    EXPECT_EQ(in_upper_half(0ms, 7), 0ms);
}

}  // namespace
}  // namespace crab
