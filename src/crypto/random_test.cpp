#include "crypto/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace crab::crypto {
namespace {

TEST(RandomTest, HexHasTwoCharactersPerByteAndDoesNotRepeat) {
    const std::string text = random_hex(32);
    EXPECT_EQ(text.size(), 64u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_NE(text, random_hex(32));
    EXPECT_EQ(random_hex(0), "");
}

TEST(RandomTest, NumbersStayBelowTheLimitAndReachAllOfTheRange) {
    std::array<int, 7> seen{};
    for (int i = 0; i < 7'000; ++i) ++seen.at(random_below(7));
    for (const int count : seen) EXPECT_NEAR(count, 1'000, 250);  // eight standard deviations
    EXPECT_EQ(random_below(1), 0u);
    EXPECT_LT(random_below(std::numeric_limits<std::uint64_t>::max()),
              std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace crab::crypto
