#include "core/rate_limits.hpp"

#include "core/test_tools.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

struct RateLimitsTest : testing::Test {
    FakeClock clock;
    PrincipalRef ann = principal_of("caller/ann"), bob = principal_of("caller/bob");
    ToolRef sms = tool_of("sms.send", "phone"), camera = tool_of("camera", "phone");

    bool take(RateLimits& limits, const PrincipalRef& who, const ToolRef& tool) { return limits.take(*who, *tool, clock.steady_now()).has_value(); }
    static RateRule rule(const char* principal, const char* tool, double per_second, double burst) {
        return {.principal = Glob(principal), .tool = Glob(tool), .per_second = per_second, .burst = burst};
    }
};

TEST_F(RateLimitsTest, WithoutRulesNothingIsLimited) {
    RateLimits limits({});
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(take(limits, ann, sms));
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

}  // namespace
}  // namespace crab::core
