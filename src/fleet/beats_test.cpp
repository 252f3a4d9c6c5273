#include "fleet/beats.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::fleet {
namespace {

using namespace std::chrono_literals;

const bus::Process kOld{.node = 2, .boot = 7}, kNew{.node = 2, .boot = 8},
    kOther{.node = 3, .boot = 9};

struct BeatsTest : testing::Test {
    FakeClock clock;
    Beats beats{clock, 3};
};

TEST_F(BeatsTest, AnOwnBeatIsFreshForTwelveSeconds) {
    const std::uint64_t said = beats.next();
    EXPECT_TRUE(beats.is_fresh(said));
    EXPECT_FALSE(beats.is_fresh(said + 1)) << "not said yet";
    EXPECT_FALSE(beats.is_fresh(0));
    EXPECT_EQ(said >> 32, 3u) << "greater than in all former lives";
    clock.advance(12s);
    EXPECT_TRUE(beats.is_fresh(said));
    EXPECT_GT(beats.next(), said);
    clock.advance(1ms);
    EXPECT_FALSE(beats.is_fresh(said));
}

TEST_F(BeatsTest, WhoWasNotHeardForEightSecondsIsSentNothing) {
    EXPECT_FALSE(beats.newest_of(kOld));
    beats.hear(kOld, 5);
    EXPECT_EQ(beats.newest_of(kOld), 5u);
    clock.advance(8s);
    EXPECT_EQ(beats.newest_of(kOld), 5u);
    clock.advance(1ms);
    EXPECT_FALSE(beats.newest_of(kOld));
}

TEST_F(BeatsTest, ABeatThatComesLateIsNoSignOfLife) {
    beats.hear(kOld, 5);
    clock.advance(9s);
    beats.hear(kOld, 4);
    beats.hear(kOld, 5);
    EXPECT_FALSE(beats.newest_of(kOld));
    beats.hear(kOld, 6);
    EXPECT_EQ(beats.newest_of(kOld), 6u);
}

TEST_F(BeatsTest, ALaterLifeOfTheNodeReplacesTheEarlierOne) {
    beats.hear(kOld, 5);
    clock.advance(1s);
    beats.hear(kOther, 1);
    EXPECT_FALSE(beats.is_replaced(kOld));
    beats.hear(kNew, 10);
    EXPECT_TRUE(beats.is_replaced(kOld));
    EXPECT_FALSE(beats.is_replaced(kNew));
    beats.hear(kOld, 6);
    EXPECT_TRUE(beats.is_replaced(kOld)) << "what it said before comes late";
    EXPECT_EQ(beats.newest_of(kOld), 5u);
}

TEST_F(BeatsTest, WhatAFormerLifeHasSaidReplacesNobody) {
    beats.hear(kNew, 10);
    clock.advance(1s);
    beats.hear(kOld, 6);  // it was on its way for long; nothing of that life was heard before
    EXPECT_FALSE(beats.is_replaced(kNew));
    EXPECT_FALSE(beats.newest_of(kOld));
    EXPECT_EQ(beats.living(), 1u);
}

}  // namespace
}  // namespace crab::fleet
