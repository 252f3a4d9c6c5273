#include "trust/peer_access.hpp"

#include "base/test_clock.hpp"
#include "trust/test_lease_store.hpp"

#include <array>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using testing::HasSubstr;

class PeerAccessTest : public testing::Test {
protected:
    static std::shared_ptr<const core::CallRules> rules_of(std::vector<core::PeerRule> peers) {
        auto made = std::make_shared<core::CallRules>();
        made->policy = core::Policy::make({}, std::move(peers)).value();
        return made;
    }
    static core::PeerRule rule(std::vector<Glob> allow, std::vector<Glob> deny,
                               std::vector<Glob> tenants = {}) {
        return {.id = "subscriber/log",
                .role = {},
                .tenants = std::move(tenants),
                .allow = std::move(allow),
                .deny = std::move(deny)};
    }
    Result<Lease> grant(std::vector<std::string> capabilities, std::string tenant = "default") {
        return access.grant(log, {.tenant_id = std::move(tenant),
                                  .agent_id = "a",
                                  .session_id = "s",
                                  .capabilities = std::move(capabilities),
                                  .ttl = {}});
    }
    bool may(std::string_view action, std::string_view lease_id = {},
             ActionScope scope = {.tenant = "default", .agent_id = "a", .session_id = "s"}) {
        return access.decide(log, action, scope, lease_id).allowed();
    }

    FakeClock clock;
    LeaseStoreMemory store;
    std::unique_ptr<Leases> leases = std::move(Leases::load(store, clock, {}).value());
    Published<core::CallRules> rules{rules_of({})};
    PeerAccess access{rules, *leases};
    const core::Principal log{.id = "subscriber/log",
                              .tenant = {},
                              .roles = {core::Role::kSubscriber},
                              .proof = core::Proof::kCertificate,
                              .device = {},
                              .credential_id = {}};
};

TEST_F(PeerAccessTest, ALeaseNarrowsAndNeverWidens) {  // checklist 78
    const Lease lease = grant({"events.subscribe:cron.triggered"}).value();
    EXPECT_TRUE(may("events.subscribe:agent.turn.failed"));
    EXPECT_FALSE(may("events.subscribe:agent.turn.failed", lease.id));
    EXPECT_TRUE(may("events.subscribe:cron.triggered", lease.id));
    rules.set(rules_of({rule({}, {Glob("events.subscribe:cron.*")})}));
    EXPECT_FALSE(may("events.subscribe:cron.triggered", lease.id)) << "the owner lost it meanwhile";
    EXPECT_FALSE(may("events.subscribe:agent.turn.failed", "unknown"));
}

TEST_F(PeerAccessTest, WhatTheOwnerLacksNoLeaseGrants) {
    const auto refused = grant({"events.subscribe:cron.*", "events.publish:cron.triggered"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kForbidden);
    EXPECT_THAT(refused.error().message, HasSubstr("events.publish:cron.triggered"));
    EXPECT_EQ(grant({"events.subscribe:*"}).error().code, ErrorCode::kForbidden);
    EXPECT_EQ(grant({"pairing:start"}).error().code, ErrorCode::kForbidden);
    EXPECT_EQ(grant({"events.subscribe:cron.*"}, "harbour").error().code, ErrorCode::kForbidden);
    rules.set(rules_of({rule({}, {}, {Glob("harbour")})}));
    EXPECT_TRUE(grant({"events.subscribe:cron.*"}, "harbour"));
}

TEST_F(PeerAccessTest, ALeaseIsRenewedOnlyForWhatItsOwnerStillHas) {
    const Lease lease = grant({"events.subscribe:cron.*"}).value();
    clock.advance(std::chrono::minutes(58));
    core::Principal other = log;
    other.id = "subscriber/other";
    EXPECT_EQ(access.renew(other, lease.id).error().code, ErrorCode::kNotFound);
    rules.set(rules_of({rule({}, {Glob("events.subscribe:cron.*")})}));
    EXPECT_EQ(access.renew(log, lease.id).error().code, ErrorCode::kForbidden);
    rules.set(rules_of({}));
    EXPECT_TRUE(access.renew(log, lease.id));
}

TEST_F(PeerAccessTest, UnderRandomPoliciesNoLeaseEverWidens) {
    const std::array patterns{"events.*",
                              "events.subscribe:*",
                              "events.publish:cron.*",
                              "events.subscribe:cron.*",
                              "events.subscribe:channel.*",
                              "control.*",
                              "events.subscribe:agent.turn.failed"};
    const std::array actions{"events.subscribe:cron.triggered",
                             "events.subscribe:agent.turn.failed", "events.publish:cron.triggered",
                             "events.subscribe:channel.message.edited", "control.config:x"};
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        std::mt19937 random(seed);
        const auto some = [&](std::size_t most) {
            std::vector<Glob> made(random() % (most + 1));
            for (Glob& glob : made) glob = Glob(patterns[random() % patterns.size()]);
            return made;
        };
        const auto tenants = [&] {
            return random() % 2 == 0 ? std::vector<Glob>{} : std::vector{Glob("*")};
        };
        rules.set(rules_of({rule(some(3), some(1), tenants())}));
        ASSERT_TRUE(leases->revoke_owner(log.id, "the next round"));
        std::vector<std::string> lease_ids{"unknown"};
        for (const char* capability : patterns) {
            for (const char* tenant : {"default", "harbour"}) {
                if (const auto lease = grant({capability}, tenant)) lease_ids.push_back(lease->id);
            }
        }
        rules.set(rules_of({rule(some(2), some(2), tenants())}));
        for (const std::string& id : lease_ids) {
            for (const char* action : actions) {
                for (const char* tenant : {"", "default", "harbour"}) {
                    const ActionScope scope{.tenant = tenant, .agent_id = "a", .session_id = "s"};
                    if (may(action, id, scope))
                        ASSERT_TRUE(may(action, {}, scope))
                            << "seed " << seed << " " << action << " " << tenant;
                    const auto lease = leases->find(id);
                    if (lease && *tenant != '\0' && lease->tenant_id != tenant)
                        ASSERT_FALSE(may(action, id, scope)) << "seed " << seed;
                }
            }
        }
    }
}

}  // namespace
}  // namespace crab::trust
