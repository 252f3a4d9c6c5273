#include "core/outcome_ring.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

OutcomeRing::Kept of(std::size_t bytes) {
    ToolResult result;
    result.content.assign(bytes, 'x');
    return {.outcome = std::make_shared<const Outcome>(std::move(result)), .duration = 1ms};
}

class OutcomeRingTest : public testing::Test {
protected:
    static constexpr std::size_t kCapacity = std::size_t{4} << 20;
    static constexpr std::size_t kHalf = kCapacity / 2;
    std::set<std::uint64_t> held;
    OutcomeRing ring{kCapacity, [this](std::uint64_t high, std::uint64_t) { held.erase(high); }};

    std::optional<std::uint64_t> add(std::uint64_t key, std::size_t bytes) {
        const auto place = ring.add(key, 0, of(bytes), SteadyTime() + 1h);
        if (place) held.insert(key);
        return place;
    }
};

TEST_F(OutcomeRingTest, LargeOutcomesHaveOneHalf) {
    constexpr std::size_t kLarge = std::size_t{256} << 10;
    for (std::uint64_t key = 0; key < 100; ++key) {
        const auto place = add(key, kLarge);
        ASSERT_TRUE(place);
        EXPECT_EQ(ring.get(*place).outcome->value().content.size(), kLarge);
        EXPECT_LE(held.size() * kLarge, kHalf);
    }
    EXPECT_EQ(held.size(), kHalf / kLarge);
}

TEST_F(OutcomeRingTest, WhatIsLargerThanAllThatMayBeKeptIsNotKept) {
    ASSERT_TRUE(add(1, 100));
    EXPECT_FALSE(add(2, kHalf + 1));
    EXPECT_EQ(held, std::set<std::uint64_t>{1});
    EXPECT_TRUE(add(3, kHalf));
}

TEST_F(OutcomeRingTest, SmallOutcomesHaveTheOtherHalf) {
    for (std::uint64_t key = 0; key < 1000; ++key) ASSERT_TRUE(add(key, 60'000));
    EXPECT_LE(held.size() * 60'000, kHalf);
    EXPECT_GT(held.size() * 60'000, kHalf / 2);
    EXPECT_TRUE(held.contains(999));
}

}  // namespace
}  // namespace crab::core
