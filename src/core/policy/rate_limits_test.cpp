#include "core/policy/rate_limits.hpp"

#include "base/test_clock.hpp"
#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

struct RateLimitsTest : testing::Test {
    FakeClock clock;
    PrincipalRef ann = principal_of("caller/ann"), bob = principal_of("caller/bob");
    ToolRef sms = tool_of("sms.send", "phone"), camera = tool_of("camera", "phone");

    bool take(RateLimits& limits, const PrincipalRef& who, const ToolRef& tool) {
        return limits.take(*who, *tool, clock.steady_now()).has_value();
    }
    static RateRule rule(const char* principal, const char* tool, double per_second, double burst) {
        return {.principal = Glob(principal),
                .tool = Glob(tool),
                .per_second = per_second,
                .burst = burst};
    }
};

TEST_F(RateLimitsTest, WithoutRulesNothingIsLimited) {
    RateLimits limits({});
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(take(limits, ann, sms));
}

TEST_F(RateLimitsTest, WhatIsLeftIsToldAndNotTaken) {
    RateLimits limits({rule("", "", 2, 3), rule("", "camera", 1, 2)});
    const auto left = [&](const ToolRef& tool) {
        return limits.left(*ann, *tool, clock.steady_now());
    };
    EXPECT_EQ(left(sms), 3);
    EXPECT_EQ(left(camera), 2) << "the least of its rules";
    EXPECT_EQ(limits.buckets(), 0u) << "a question makes no bucket";
    EXPECT_TRUE(take(limits, ann, sms));
    EXPECT_EQ(left(sms), 2);
    EXPECT_EQ(left(sms), 2);
    EXPECT_EQ(limits.left(*bob, *sms, clock.steady_now()), 3);
    EXPECT_EQ(RateLimits({}).left(*ann, *sms, clock.steady_now()), std::nullopt);
}

TEST_F(RateLimitsTest, ABurstPassesAndThenTheRateHolds) {
    RateLimits limits({rule("", "", 2, 3)});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(limits, ann, sms));
    const auto refused = limits.take(*ann, *sms, clock.steady_now());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(refused.error().retry_after, 500ms);
    clock.advance(499ms);
    EXPECT_FALSE(take(limits, ann, sms));
    clock.advance(1ms);
    EXPECT_TRUE(take(limits, ann, sms));
    clock.advance(1h);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(limits, ann, sms));
    EXPECT_FALSE(take(limits, ann, sms));
}

TEST_F(RateLimitsTest, WhoeverWaitsAsToldIsLetIn) {
    RateLimits limits({rule("", "", 3, 1)});
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(take(limits, ann, sms));
        const auto refused = limits.take(*ann, *sms, clock.steady_now());
        ASSERT_FALSE(refused);
        clock.advance(refused.error().retry_after.value());
    }
}

TEST_F(RateLimitsTest, EveryPrincipalHasItsOwnCount) {
    RateLimits limits({rule("caller/*", "", 1, 1)});
    EXPECT_TRUE(take(limits, ann, sms));
    EXPECT_FALSE(take(limits, ann, sms));
    EXPECT_TRUE(take(limits, bob, sms));
}

TEST_F(RateLimitsTest, OnlyToolsAndPrincipalsThatFitAreCounted) {
    RateLimits limits({rule("caller/ann", "sms.*", 1, 1), rule("", "phone__camera", 1, 1)});
    EXPECT_TRUE(take(limits, ann, sms));
    EXPECT_FALSE(take(limits, ann, sms));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(take(limits, bob, sms));
    EXPECT_TRUE(take(limits, ann, camera));
    EXPECT_FALSE(take(limits, ann, camera));
}

TEST_F(RateLimitsTest, WhatOneRuleRefusesNoOtherRuleCounts) {
    RateLimits limits({rule("", "", 1, 5), rule("", "sms.*", 1, 1)});
    EXPECT_TRUE(take(limits, ann, sms));
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(take(limits, ann, sms));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(take(limits, ann, camera));
    EXPECT_FALSE(take(limits, ann, camera));
}

TEST_F(RateLimitsTest, ABucketThatIsNotFullAgainIsNotForgottenHoweverLongItIsIdle) {
    RateLimits limits({rule("", "", 1.0 / 86'400, 1)});  // one a day
    EXPECT_TRUE(take(limits, ann, sms));
    clock.advance(2h);
    for (int i = 0; i < 10'000; ++i)
        (void)take(limits, principal_of("caller/c" + std::to_string(i)), sms);
    EXPECT_FALSE(take(limits, ann, sms));
    clock.advance(22h);
    EXPECT_TRUE(take(limits, ann, sms));
}

TEST_F(RateLimitsTest, BucketsThatAreFullAgainAreForgotten) {
    RateLimits limits({rule("", "", 1, 1)});
    for (int i = 0; i < 100'000; ++i) {
        clock.advance(10ms);
        ASSERT_TRUE(take(limits, principal_of("caller/c" + std::to_string(i)), sms));
    }
    EXPECT_LT(limits.buckets(), 3'000u);
}

TEST_F(RateLimitsTest, AtTheBoundNewcomersShareABucketAndNobodyIsResetForThem) {
    RateLimits limits({rule("", "", 0, 1)});  // never again
    EXPECT_TRUE(take(limits, ann, sms));
    for (std::size_t i = 1; i < RateLimits::kMostBuckets; ++i)
        ASSERT_TRUE(take(limits, principal_of("caller/c" + std::to_string(i)), sms));
    EXPECT_TRUE(take(limits, bob, sms)) << "the first for whom there is no room";
    for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(take(limits, principal_of("caller/more" + std::to_string(i)), sms));
    EXPECT_FALSE(take(limits, ann, sms));
    EXPECT_EQ(limits.buckets(), RateLimits::kMostBuckets);
}

TEST_F(RateLimitsTest, AReloadKeepsTheBucketsOfRulesThatAreTheSame) {
    RateLimits first(
        {rule("", "sms.*", 0.001, 1), rule("", "camera", 0.001, 2), rule("", "camera", 0.001, 2)});
    EXPECT_TRUE(take(first, ann, sms));
    EXPECT_TRUE(take(first, ann, camera));
    RateLimits second({rule("", "camera", 0.001, 2), rule("caller/nobody", "", 1, 1),
                       rule("", "sms.*", 0.001, 1), rule("", "camera", 0.001, 2)},
                      &first);
    EXPECT_FALSE(take(second, ann, sms));
    EXPECT_TRUE(take(second, ann, camera));
    EXPECT_FALSE(take(second, ann, camera));
    EXPECT_TRUE(take(second, bob, sms));
    EXPECT_FALSE(take(first, bob, sms)) << "calls that began before the reload count as well";
    RateLimits third({rule("", "sms.*", 0.001, 5)}, &second);
    EXPECT_TRUE(take(third, ann, sms)) << "another rule begins anew";
}

}  // namespace
}  // namespace crab::core
