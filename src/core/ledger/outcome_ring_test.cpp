#include "core/ledger/outcome_ring.hpp"

#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCapacity = std::size_t{256} << 10;   // the least that a ring takes

OutcomeRing::Kept result_of(std::string content, std::vector<std::string> logs = {}) {
    ToolResult result;
    result.content = std::move(content);
    result.logs = std::move(logs);
    return {std::make_shared<const Outcome>(std::move(result)), 5ms};
}

struct OutcomeRingTest : testing::Test {
    SteadyTime now{1h};
    std::vector<std::uint64_t> dropped;
    OutcomeRing ring{kCapacity,
                     [this](std::uint64_t high, std::uint64_t) { dropped.push_back(high); }};
};

TEST_F(OutcomeRingTest, WhatIsAddedComesBack) {
    const auto place = ring.add(1, 2, result_of("content"), now + 1s);
    EXPECT_EQ((*ring.get(place.value()).outcome)->content, "content");
    EXPECT_EQ(ring.get(place.value()).duration, 5ms);
    EXPECT_TRUE(dropped.empty());
}

TEST_F(OutcomeRingTest, ExpiryDropsTheOldestWhoseTimeHasCome) {
    ring.add(1, 0, result_of("a"), now + 1s);
    const auto second = ring.add(2, 0, result_of("b"), now + 2s);
    ring.expire(now + 1s);
    EXPECT_EQ(dropped, std::vector<std::uint64_t>{1});
    EXPECT_EQ((*ring.get(second.value()).outcome)->content, "b");
    ring.expire(now + 1h);
    EXPECT_EQ(dropped, (std::vector<std::uint64_t>{1, 2}));
    ring.expire(now + 2h);
    EXPECT_EQ(dropped.size(), 2u);
}

TEST_F(OutcomeRingTest, AFullRingDropsTheOldestToMakeRoom) {
    for (std::uint64_t i = 0; i < 20; ++i)
        ring.add(i, 0, result_of(std::string(30'000, static_cast<char>('a' + i))), now);
    EXPECT_GE(dropped.size(), 12u);
    for (std::uint64_t i = 0; i < dropped.size(); ++i) EXPECT_EQ(dropped[i], i);
}

TEST_F(OutcomeRingTest, LargeOutcomesAreSharedAndCountedAgainstTheCapacity) {
    const auto large = result_of(std::string(100'000, 'x'));
    const auto first = ring.add(1, 0, large, now);
    EXPECT_EQ(ring.get(first.value()).outcome, large.outcome);
    ring.add(2, 0, result_of(std::string(100'000, 'y')), now);
    EXPECT_TRUE(dropped.empty());
    ring.add(3, 0, result_of(std::string(100'000, 'z')), now);
    EXPECT_EQ(dropped, std::vector<std::uint64_t>{1});
}

TEST_F(OutcomeRingTest, LogsCountAgainstTheCapacityToo) {
    for (std::uint64_t i = 0; i < 10; ++i)
        ring.add(i, 0, result_of("small", std::vector<std::string>(10, std::string(10'000, 'l'))),
                 now);
    EXPECT_GE(dropped.size(), 7u);
}

TEST_F(OutcomeRingTest, AnOutcomeBeyondTheCapacityIsNotKeptAndDropsNothing) {
    const auto first = ring.add(1, 0, result_of("a"), now);
    EXPECT_FALSE(ring.add(2, 0, result_of(std::string(kCapacity + 1, 'x')), now));
    EXPECT_TRUE(dropped.empty());
    EXPECT_EQ((*ring.get(first.value()).outcome)->content, "a");
    EXPECT_TRUE(ring.add(3, 0, result_of(std::string(kCapacity, 'x')), now));
}

/// The half for large outcomes and the half for small ones, by themselves.
struct HalvesTest : testing::Test {
    static constexpr std::size_t kHalf = std::size_t{2} << 20;
    std::size_t held = 0;
    OutcomeRing ring{2 * kHalf, [this](std::uint64_t, std::uint64_t) { --held; }};

    void fill(std::size_t bytes) {
        for (std::uint64_t key = 0; key < 1000; ++key) {
            ASSERT_TRUE(ring.add(key, 0, result_of(std::string(bytes, 'x')), SteadyTime(1h)));
            ASSERT_LE(++held * bytes, kHalf);
        }
    }
};

TEST_F(HalvesTest, LargeOutcomesHaveOneHalf) {
    fill(std::size_t{256} << 10);
    EXPECT_EQ(held, 8u);
}

TEST_F(HalvesTest, SmallOutcomesHaveTheOther) {
    fill(60'000);
    EXPECT_GT(held * 60'000, kHalf / 2);
}

/// Round and round with outcomes of all sizes: what was not dropped is there unchanged, and what
/// goes, goes in order.
TEST(OutcomeRing, AgreesWithAQueueOverManyRounds) {
    for (std::uint32_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        SteadyTime now{1h};
        struct Kept {
            std::uint64_t key, place;
            std::string content;
            bool error;
            SteadyTime until;
        };
        std::deque<Kept> model;
        OutcomeRing ring(kCapacity, [&](std::uint64_t high, std::uint64_t low) {
            ASSERT_FALSE(model.empty());
            ASSERT_EQ(model.front().key, high);
            ASSERT_EQ(low, ~high);
            model.pop_front();
        });
        for (std::uint64_t key = 0; key < 4000; ++key) {
            const std::size_t size = random() % 40 == 0 ? random() % 200'000 : random() % 2000;
            const std::string content(size, static_cast<char>('a' + key % 26));
            const bool error = random() % 3 == 0;
            OutcomeRing::Kept ended = result_of(content);
            if (error)
                ended.outcome =
                    std::make_shared<const Outcome>(fail(ErrorCode::kToolFailed, content));
            const SteadyTime until = now + 1s;
            const auto place = ring.add(key, ~key, ended, until).value();
            model.push_back(
                {.key = key, .place = place, .content = content, .error = error, .until = until});
            now += std::chrono::milliseconds(random() % 20);
            if (random() % 5 == 0) {
                ring.expire(now);
                ASSERT_TRUE(model.empty() || model.front().until > now);
            }
            std::size_t bytes = 0;
            for (const Kept& kept : model) bytes += kept.content.size();
            ASSERT_LE(bytes, 2 * kCapacity);
            if (key % 50 == 0) {
                for (const Kept& kept : model) {
                    const auto found = ring.get(kept.place).outcome;
                    ASSERT_EQ(found->has_value(), !kept.error);
                    ASSERT_EQ(kept.error ? found->error().message : (*found)->content,
                              kept.content);
                }
            }
        }
    }
}

}  // namespace
}  // namespace crab::core
