#include "core/policy/agent_claim.hpp"

#include "core/call/test_tools.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

/// The agent of a call by `who` that names `agent`, and whether it is that agent's call; `!` for a
/// refusal.
struct Settled {
    std::string agent;
    bool acts = false;
    friend bool operator==(const Settled&, const Settled&) = default;
};
Settled settled(const Principal& who, std::string_view agent, const Policy& policy,
                bool front_knows = false) {
    Call call;
    call.context.agent_id = agent;
    call.acts_for_agent = front_knows;
    if (!settle_agent(call, who, policy)) return {.agent = "!"};
    EXPECT_EQ(call.claimed_agent, agent);
    return {.agent = std::string(call.context.agent_id), .acts = call.acts_for_agent};
}

std::shared_ptr<const Policy> policy_for(const char* principal,
                                         std::initializer_list<const char*> agents) {
    PolicyRule rule;
    rule.principal = Glob(principal);
    rule.act_for = globs(agents);
    return policy_of({rule});
}

const PrincipalRef kCi = principal_of("caller/ci"), kAnn = principal_of("caller/ann");

TEST(AgentClaim, WhatACallerOnlySaysIsANameOfItsOwn) {
    const auto policy = policy_of();
    EXPECT_EQ(settled(*kCi, "butler", *policy), (Settled{"caller/ci/butler", false}));
    EXPECT_EQ(settled(*kAnn, "butler", *policy), (Settled{"caller/ann/butler", false}));
    EXPECT_EQ(settled(*kCi, "caller/ann/butler", *policy),
              (Settled{"caller/ci/caller/ann/butler", false}));
    EXPECT_EQ(settled(*kCi, "caller/ann", *policy), (Settled{"caller/ci/caller/ann", false}));
    EXPECT_EQ(
        settled(*principal_of("device/butler", {Role::kDevice, Role::kCaller}), "butler", *policy),
        (Settled{"device/butler/butler", false}))
        << "a principal is not the agent of its name";
}

TEST(AgentClaim, WithoutANameTheCallIsThePrincipals) {
    const auto policy = policy_for("*", {"*"});
    EXPECT_EQ(settled(*kCi, "", *policy), (Settled{"caller/ci", false}));
    EXPECT_EQ(settled(*kCi, "caller/ci", *policy), (Settled{"caller/ci", false}));
}

TEST(AgentClaim, ARuleLetsItsPrincipalsActForItsAgentsAndNobodyForANameWithASlash) {
    const auto policy = policy_for("caller/ci", {"butler", "plan-*"});
    EXPECT_EQ(settled(*kCi, "butler", *policy), (Settled{"butler", true}));
    EXPECT_EQ(settled(*kCi, "plan-7", *policy), (Settled{"plan-7", true}));
    EXPECT_EQ(settled(*kCi, "cook", *policy), (Settled{"caller/ci/cook", false}));
    EXPECT_EQ(settled(*kAnn, "butler", *policy), (Settled{"caller/ann/butler", false}));
    EXPECT_EQ(settled(*kCi, "caller/ann/butler", *policy_for("*", {"*"})),
              (Settled{"caller/ci/caller/ann/butler", false}));
}

TEST(AgentClaim, OperatorsAndFrontsThatKnowActForTheAgent) {
    const auto policy = policy_of();
    EXPECT_EQ(settled(*principal_of("local/1000", {Role::kOperator}), "butler", *policy),
              (Settled{"butler", true}));
    EXPECT_EQ(settled(*kCi, "butler", *policy, true), (Settled{"butler", true}));
}

TEST(AgentClaim, ANameThatDoesNotFitBesideThePrincipalsIsRefused) {
    const auto policy = policy_of();
    EXPECT_EQ(settled(*kCi, std::string(246, 'a'), *policy).agent.size(), 256u);
    EXPECT_EQ(settled(*kCi, std::string(247, 'a'), *policy).agent, "!");
    EXPECT_EQ(settled(*kCi, std::string(256, 'a'), *policy_for("caller/*", {"a*"})).agent.size(),
              256u);
}

TEST(Tenants, ATokenMayActForItsTenantsAPeerForThoseOfItsEntryAndAnOperatorForAll) {
    const auto policy = Policy::make({}, {{.id = "operator/desk",
                                           .role = Role::kCaller,
                                           .tenants = globs({"har*", "inn"}),
                                           .allow = {},
                                           .deny = {}}})
                            .value();
    Principal token = *principal_of("caller/ci", {Role::kCaller}, "default");
    token.more_tenants = {TenantId("home")};
    for (const char* tenant : {"default", "home"})
        EXPECT_TRUE(policy->may_act_in(token, tenant)) << tenant;
    for (const char* tenant : {"system", "secret", "hom", "", "default "})
        EXPECT_FALSE(policy->may_act_in(token, tenant)) << tenant;
    EXPECT_EQ(policy->home_tenant(token), "default");
    EXPECT_EQ(token.tenant_for("home"), "home");
    EXPECT_EQ(token.tenant_for("secret"), "default");

    Principal peer = *principal_of("operator/desk");
    peer.proof = Proof::kCertificate;
    for (const char* tenant : {"harbour", "inn"})
        EXPECT_TRUE(policy->may_act_in(peer, tenant)) << tenant;
    EXPECT_FALSE(policy->may_act_in(peer, "default"));
    EXPECT_EQ(policy->home_tenant(peer), "inn");
    peer.id = "operator/other";
    EXPECT_TRUE(policy->may_act_in(peer, "default"));
    EXPECT_FALSE(policy->may_act_in(peer, "harbour"));
    EXPECT_EQ(policy->home_tenant(peer), "default");

    const auto local = principal_of("local/1000", {Role::kOperator});
    EXPECT_TRUE(policy->may_act_in(*local, "system"));
    EXPECT_EQ(policy->home_tenant(*local), "");
}

TEST(Tenants, ARuleOfATenantSpeaksOfCallsForThatTenant) {
    PolicyRule rule;
    rule.tenant = Glob("secret");
    rule.call_deny = globs({"*"});
    const auto policy = policy_of({rule});
    Principal token = *principal_of("caller/ci", {Role::kCaller}, "default");
    token.more_tenants = {TenantId("secret")};
    const auto tool = tool_of("clock");
    EXPECT_TRUE(policy->may_call(token, *tool, "default"));
    EXPECT_FALSE(policy->may_call(token, *tool, "secret"));
    EXPECT_FALSE(policy->may_call(token, *tool)) << "for any of its tenants";
}

}  // namespace
}  // namespace crab::core
