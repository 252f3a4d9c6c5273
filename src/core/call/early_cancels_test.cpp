#include "core/call/early_cancels.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

struct EarlyCancelsTest : testing::Test {
    EarlyCancels cancels;
    SteadyTime now{1h};
};

TEST_F(EarlyCancelsTest, ACancelThatCameFirstIsUsedOnce) {
    cancels.remember("acme", "ann", "c1", now);
    EXPECT_TRUE(cancels.take("acme", "ann", "c1", now + 9s));
    EXPECT_FALSE(cancels.take("acme", "ann", "c1", now + 9s));
}

TEST_F(EarlyCancelsTest, OthersCallsAreNotHit) {
    cancels.remember("acme", "ann", "c1", now);
    EXPECT_FALSE(cancels.take("acme", "bob", "c1", now));
    EXPECT_FALSE(cancels.take("other", "ann", "c1", now));
    EXPECT_FALSE(cancels.take("acme", "ann", "c2", now));
    EXPECT_FALSE(cancels.take("acm", "eann", "c1", now));
    EXPECT_TRUE(cancels.take("acme", "ann", "c1", now));
}

TEST_F(EarlyCancelsTest, IsForgottenAfterTenSecondsHoweverOftenItCame) {
    cancels.remember("", "ann", "c1", now);
    cancels.remember("", "ann", "c1", now + 1s);
    EXPECT_FALSE(cancels.take("", "ann", "c1", now + 12s));
    cancels.remember("", "ann", "c1", now + 13s);
    EXPECT_TRUE(cancels.take("", "ann", "c1", now + 14s));
}

TEST_F(EarlyCancelsTest, ASecondCancelOfTheSameIdHasItsOwnTenSeconds) {
    cancels.remember("", "ann", "c1", now);
    EXPECT_TRUE(cancels.take("", "ann", "c1", now + 1s));
    cancels.remember("", "ann", "c1", now + 9s);
    EXPECT_TRUE(cancels.take("", "ann", "c1", now + 12s));
}

TEST_F(EarlyCancelsTest, NobodyLosesHisToAnotherHoweverManyThatOneSends) {
    cancels.remember("acme", "ann", "c1", now);
    for (int i = 0; i < 20'000; ++i)
        cancels.remember("t" + std::to_string(i % 7), "eve", "c" + std::to_string(i), now);
    EXPECT_TRUE(cancels.take("acme", "ann", "c1", now));
    EXPECT_FALSE(cancels.take("t0", "eve", "c0", now))
        << "other tenants are no way round the bound";
}

TEST_F(EarlyCancelsTest, AllTogetherAreBoundedAndThoseThatAreThereStay) {
    for (int i = 0; i < 1'000; ++i) {
        for (int j = 0; j < 300; ++j)
            cancels.remember("", "eve" + std::to_string(i), "c" + std::to_string(j), now);
    }
    EXPECT_TRUE(cancels.take("", "eve0", "c299", now));
    EXPECT_FALSE(cancels.take("", "eve999", "c299", now));
    cancels.remember("", "ann", "c1", now + 11s);
    EXPECT_TRUE(cancels.take("", "ann", "c1", now + 12s)) << "the old ones have gone";
}

TEST_F(EarlyCancelsTest, ManyAreBounded) {
    for (int i = 0; i < 20'000; ++i) cancels.remember("", "ann", "c" + std::to_string(i), now);
    EXPECT_TRUE(cancels.take("", "ann", "c19999", now));
    EXPECT_FALSE(cancels.take("", "ann", "c0", now));
}

}  // namespace
}  // namespace crab::core
