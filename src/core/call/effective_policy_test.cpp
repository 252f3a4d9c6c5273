#include "core/call/effective_policy.hpp"

#include "core/call/call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EffectivePolicyTest, NothingStatedAndNothingConfiguredIsTheTightest) {
    const auto policy = effective_policy({}, {}, {}).value();
    EXPECT_EQ(policy.timeout, Milliseconds(30'000));
    EXPECT_EQ(policy.retries(), 2u);
    EXPECT_EQ(policy.backoff, Backoff::kExponential);
    EXPECT_EQ(policy.network, Network::kDenyAll);
    EXPECT_EQ(policy.privilege, Privilege::kMinimal);
    EXPECT_EQ(policy.budget_cpu, Milliseconds(0));
    EXPECT_EQ(policy.budget_wall, Milliseconds(0));
    EXPECT_FALSE(policy.worktree_required);
    EXPECT_THAT(policy.clamped, IsEmpty());
}

TEST(EffectivePolicyTest, WhatACallStatesReplacesTheDefault) {
    PolicyLimits limits;
    limits.ceilings.network = Network::kEgressUnrestricted;
    limits.ceilings.privilege = Privilege::kDefault;
    const auto policy = effective_policy(limits,
                                         {.max_retries = 4,
                                          .backoff = "Linear",
                                          .network_policy = "restricted",
                                          .privilege_level = "default",
                                          .worktree_required = true,
                                          .budget_cpu_ms = 500,
                                          .budget_wall_ms = 2'000},
                                         Milliseconds(1'500))
                            .value();
    EXPECT_EQ(policy.timeout, Milliseconds(1'500));
    EXPECT_EQ(policy.max_retries, 4u);
    EXPECT_EQ(policy.backoff, Backoff::kLinear);
    EXPECT_EQ(policy.network, Network::kEgressRestricted);
    EXPECT_EQ(policy.privilege, Privilege::kDefault);
    EXPECT_EQ(policy.budget_cpu, Milliseconds(500));
    EXPECT_EQ(policy.budget_wall, Milliseconds(2'000));
    EXPECT_TRUE(policy.worktree_required);
    EXPECT_THAT(policy.clamped, IsEmpty());
}

TEST(EffectivePolicyTest, WishesBeyondTheCeilingAreCappedAndListed) {
    PolicyLimits limits;
    limits.ceilings.budget_cpu = Milliseconds(1'000);
    limits.ceilings.budget_wall = Milliseconds(3'000);
    const auto policy = effective_policy(limits,
                                         {.max_retries = 9,
                                          .network_policy = "FULL_ACCESS",
                                          .privilege_level = "privileged",
                                          .budget_cpu_ms = UINT64_MAX,
                                          .budget_wall_ms = 3'001},
                                         std::chrono::hours(2))
                            .value();
    EXPECT_EQ(policy.timeout, Milliseconds(600'000));
    EXPECT_EQ(policy.max_retries, 5u);
    EXPECT_EQ(policy.network, Network::kDenyAll)
        << "an unconfigured ceiling of labels is the default itself";
    EXPECT_EQ(policy.privilege, Privilege::kMinimal);
    EXPECT_EQ(policy.budget_cpu, Milliseconds(1'000));
    EXPECT_EQ(policy.budget_wall, Milliseconds(3'000));
    EXPECT_THAT(policy.clamped, ElementsAre("timeout", "max_retries", "network_policy",
                                            "privilege_level", "budget_cpu_ms", "budget_wall_ms"));
}

TEST(EffectivePolicyTest, ATighterWishHoldsAndABudgetNobodyNamesIsTheCeiling) {
    PolicyLimits limits{
        .defaults = {.network = Network::kEgressRestricted, .privilege = Privilege::kDefault},
        .ceilings = {.budget_cpu = Milliseconds(700)}};
    const auto policy =
        effective_policy(limits, {.network_policy = "none", .privilege_level = "MINIMAL"},
                         Milliseconds(10))
            .value();
    EXPECT_EQ(policy.timeout, Milliseconds(10));
    EXPECT_EQ(policy.network, Network::kDenyAll);
    EXPECT_EQ(policy.privilege, Privilege::kMinimal);
    EXPECT_EQ(policy.budget_cpu, Milliseconds(700));
    EXPECT_THAT(policy.clamped, IsEmpty()) << "nobody asked for more";
}

TEST(EffectivePolicyTest, LabelsIgnoreCaseAndTakeADashForAnUnderscore) {
    EXPECT_EQ(find_network("Egress-Restricted"), Network::kEgressRestricted);
    EXPECT_EQ(find_network("UNRESTRICTED"), Network::kEgressUnrestricted);
    EXPECT_EQ(find_network("full"), Network::kFullAccess);
    EXPECT_EQ(find_privilege("elevated"), Privilege::kElevated);
    EXPECT_EQ(find_backoff("FIXED"), Backoff::kConstant);
    for (const auto network : {Network::kDenyAll, Network::kEgressRestricted,
                               Network::kEgressUnrestricted, Network::kFullAccess}) {
        EXPECT_EQ(find_network(name_of(network)), network);
    }
    for (const auto privilege :
         {Privilege::kMinimal, Privilege::kDefault, Privilege::kElevated, Privilege::kPrivileged}) {
        EXPECT_EQ(find_privilege(name_of(privilege)), privilege);
    }
}

TEST(EffectivePolicyTest, UnknownLabelsAndNegativeTimeoutsAreRefusedByField) {
    EXPECT_THAT(effective_policy({}, {.network_policy = "deny all"}, {}).error().message,
                testing::StartsWith("policy.network_policy:"));
    EXPECT_THAT(effective_policy({}, {.privilege_level = "root"}, {}).error().message,
                testing::StartsWith("policy.privilege_level:"));
    EXPECT_THAT(effective_policy({}, {.backoff = "never"}, {}).error().message,
                testing::StartsWith("policy.backoff:"));
    EXPECT_EQ(effective_policy({}, {}, Milliseconds(-5'000)).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(effective_policy({}, {}, Milliseconds(0)).value().timeout, Milliseconds(30'000))
        << "zero is not stated";
}

TEST(EffectivePolicyTest, NoBackoffMeansNoRetryAndTheOthersHaveTheirOwnPace) {
    EXPECT_EQ(effective_policy({}, {.max_retries = 3, .backoff = "none"}, {}).value().retries(),
              0u);
    EXPECT_EQ(longest_wait(Backoff::kExponential, 1), Milliseconds(50));
    EXPECT_EQ(longest_wait(Backoff::kExponential, 4), Milliseconds(400));
    EXPECT_EQ(longest_wait(Backoff::kExponential, 40), Milliseconds(2'000));
    EXPECT_EQ(longest_wait(Backoff::kLinear, 3), Milliseconds(750));
    EXPECT_EQ(longest_wait(Backoff::kLinear, 30), Milliseconds(2'000));
    EXPECT_EQ(longest_wait(Backoff::kConstant, 9), Milliseconds(500));
}

}  // namespace
}  // namespace crab::core
