#include "core/call/action.hpp"
#include "core/call/test_tools.hpp"
#include "core/policy/policy.hpp"

#include <algorithm>
#include <array>
#include <random>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

constexpr std::array kEventTypes{
    "channel.message.received", "channel.message.edited", "channel.message.deleted",
    "cron.triggered",           "heartbeat.tick",         "agent.turn.started",
    "agent.turn.completed",     "agent.turn.failed",      "agent.response.created",
    "tool.call.requested",      "tool.call.completed",    "tool.call.failed",
    "pairing.started",          "pairing.completed",      "pairing.failed",
    "config.applied",           "config.reverted",        "approval.requested",
    "approval.decided"};
constexpr std::array kControls{"control.config:reload", "control.sessions:list",
                               "control.peers:revoke", "control.subscriptions:ack"};

std::vector<std::string> all_actions() {
    std::vector<std::string> actions(kControls.begin(), kControls.end());
    for (const std::string type : kEventTypes) {
        actions.push_back("events.publish:" + type);
        actions.push_back("events.subscribe:" + type);
    }
    return actions;
}

PrincipalRef peer(std::string id, Role role) {
    auto made = std::make_shared<Principal>(*principal_of(std::move(id), {role}));
    made->proof = Proof::kCertificate;
    return made;
}
const PrincipalRef kLog = peer("subscriber/log", Role::kSubscriber);

std::shared_ptr<const Policy> policy_of_peers(std::vector<PeerRule> peers) {
    return Policy::make({}, std::move(peers)).value();
}
PeerRule rule_for(std::string id, std::initializer_list<const char*> allow,
                  std::initializer_list<const char*> deny = {},
                  std::initializer_list<const char*> tenants = {}) {
    return {.id = std::move(id),
            .role = {},
            .tenants = globs(tenants),
            .allow = globs(allow),
            .deny = globs(deny)};
}
bool may(const Policy& policy, const Principal& who, std::string_view action,
         std::string_view tenant = "default") {
    return policy.decide_action(who, action, tenant).verdict == Verdict::kAllow;
}

TEST(PolicyActions, EachRoleHasItsTableAndNothingMore) {  // checklist 77
    const auto policy = policy_of();
    const auto expect = [&](Role role, std::initializer_list<std::string_view> allowed) {
        const auto who = peer("p", role);
        for (const std::string& action : all_actions()) {
            const bool listed = std::ranges::any_of(allowed, [&](std::string_view pattern) {
                return Glob(std::string(pattern)).matches(action);
            });
            EXPECT_EQ(may(*policy, *who, action), listed) << name_of(role) << " " << action;
        }
    };
    expect(Role::kToolHost,
           {"events.publish:tool.call.completed", "events.publish:tool.call.failed",
            "events.subscribe:tool.call.requested"});
    expect(Role::kSubscriber, {"events.subscribe:channel.*", "events.subscribe:cron.*",
                               "events.subscribe:heartbeat.tick", "events.subscribe:agent.*"});
    expect(Role::kListener, {"events.publish:channel.message.*"});
    for (const Role role : {Role::kCliAdmin, Role::kOperator}) expect(role, {"*"});
    for (const Role role : {Role::kCaller, Role::kDevice}) expect(role, {});
}

TEST(PolicyActions, APolicyWidensARoleAndDenyWins) {  // checklist 78
    const auto policy =
        policy_of_peers({rule_for("subscriber/log", {"events.*:tool.call.*"},
                                  {"events.publish:*", "events.subscribe:cron.*"})});
    EXPECT_TRUE(may(*policy, *kLog, "events.subscribe:tool.call.failed"));
    EXPECT_TRUE(may(*policy, *kLog, "events.subscribe:agent.turn.failed"));
    EXPECT_FALSE(may(*policy, *kLog, "events.publish:tool.call.failed"));
    EXPECT_FALSE(may(*policy, *kLog, "events.subscribe:cron.triggered"));
    EXPECT_FALSE(may(*policy, *peer("subscriber/other", Role::kSubscriber),
                     "events.subscribe:tool.call.failed"));
}

TEST(PolicyActions, TheDecisionNamesItsRule) {
    const auto policy = policy_of_peers(
        {rule_for("tool_host/x", {}),
         rule_for("subscriber/log", {"control.*"}, {"events.subscribe:cron.*"}, {"harbour"})});
    const auto rule = [&](std::string_view action, std::string_view tenant = "harbour") {
        return policy->decide_action(*kLog, action, tenant).rule;
    };
    EXPECT_EQ(rule("control.config:reload"), "peers[1].allow: control.*");
    EXPECT_EQ(rule("events.subscribe:cron.triggered"), "peers[1].deny: events.subscribe:cron.*");
    EXPECT_EQ(rule("events.subscribe:agent.turn.failed"),
              "role default: subscriber may events.subscribe:agent.*");
    EXPECT_EQ(rule("events.publish:cron.triggered"),
              "default deny: neither its role nor a rule allows it");
    EXPECT_EQ(rule("control.config:reload", "default"), "peers[1].tenants: none of them");
}

TEST(PolicyActions, ACertificateOfAnUnknownPeerActsForTheDefaultTenantOnly) {
    const auto policy = policy_of();
    EXPECT_TRUE(may(*policy, *kLog, "events.subscribe:cron.triggered", "default"));
    EXPECT_TRUE(may(*policy, *kLog, "events.subscribe:cron.triggered", ""));
    EXPECT_FALSE(may(*policy, *kLog, "events.subscribe:cron.triggered", "harbour"));
    EXPECT_TRUE(may(*policy, *principal_of("local/0", {Role::kOperator}),
                    "events.subscribe:cron.triggered", "harbour"));
    EXPECT_FALSE(may(*policy, *principal_of("caller/a", {Role::kSubscriber}, "acme"),
                     "events.subscribe:cron.triggered", "harbour"));
}

TEST(PolicyActions, APeerMayCallIfItsEntryMakesItACaller) {
    PeerRule rule = rule_for("subscriber/log", {});
    rule.role = Role::kCaller;
    const auto policy = policy_of_peers({rule});
    const auto tool = tool_of("echo");
    EXPECT_EQ(policy->decide_call(*kLog, *tool, std::nullopt).verdict, Verdict::kAllow);
    EXPECT_EQ(policy->decide_call(*peer("subscriber/other", Role::kSubscriber), *tool, std::nullopt)
                  .verdict,
              Verdict::kDeny);
    EXPECT_EQ(
        policy
            ->decide_call(*principal_of("subscriber/log", {Role::kSubscriber}), *tool, std::nullopt)
            .verdict,
        Verdict::kDeny)
        << "no certificate proved the name";
}

TEST(PolicyActions, AnEntryGivesAPeerAnotherRoleAndOnlyAPeer) {
    PeerRule rule = rule_for("subscriber/log", {});
    rule.role = Role::kToolHost;
    const auto policy = policy_of_peers({rule});
    EXPECT_TRUE(may(*policy, *kLog, "events.publish:tool.call.completed"));
    EXPECT_FALSE(may(*policy, *kLog, "events.subscribe:cron.triggered"));
    EXPECT_TRUE(may(*policy, *principal_of("subscriber/log", {Role::kSubscriber}),
                    "events.subscribe:cron.triggered"))
        << "no certificate proved the name";
}

TEST(PolicyActions, APatternAsksForAllThatItStandsFor) {
    const auto policy = policy_of_peers(
        {rule_for("subscriber/log", {"events.subscribe:tool.*"}, {"events.subscribe:cron.x"})});
    EXPECT_TRUE(may(*policy, *kLog, "events.subscribe:agent.turn.*"));
    EXPECT_TRUE(may(*policy, *kLog, "events.subscribe:tool.*"));
    EXPECT_FALSE(may(*policy, *kLog, "events.subscribe:*"));
    EXPECT_FALSE(may(*policy, *kLog, "events.subscribe:cron.*")) << "some of it is denied";
    EXPECT_TRUE(may(*policy, *peer("operator/desk", Role::kCliAdmin), "control.config:*"));
}

TEST(PolicyActions, PairingIsNoActionAndNoPatternThatNamesNoneIsAPolicy) {  // checklist 80
    for (const char* word : {"pairing", "pairing:*", "pair.start", "control.pairings:start",
                             "control.peers:pair", "control.peers:renew", "control.peers:pair*",
                             "events.publish", "events.publish:", "events.publish:a b", "*", "",
                             "tools.call:x", "events.*:cron.triggered"}) {
        EXPECT_FALSE(is_action(word)) << word;
    }
    for (const char* word : {"pairing*", "events.publsh:*", "control.peers:pair", "control.*x"}) {
        const auto made = Policy::make({}, {rule_for("subscriber/log", {word})});
        if (std::string_view(word) == "control.*x") {
            EXPECT_TRUE(made) << "it may mean control.config:x";
        } else {
            ASSERT_FALSE(made) << word;
            EXPECT_NE(made.error().message.find("peers[0].allow: "), std::string::npos)
                << made.error().message;
        }
    }
    EXPECT_FALSE(
        Policy::make({}, {rule_for("subscriber/log", {}), rule_for("subscriber/log", {})}));
}

/// Peers, entries and questions from a small world, so that rules meet often.
class RandomPeers {
public:
    explicit RandomPeers(std::uint32_t seed) : random_(seed) {}

    std::vector<PeerRule> rules() {
        std::vector<PeerRule> made;
        for (const PrincipalRef& who : principals) {
            if (chance(4)) continue;
            made.push_back({.id = who->id,
                            .role = {},
                            .tenants = some(tenants, 3),
                            .allow = some(patterns, 3),
                            .deny = some(patterns, 3)});
            if (chance(4))
                made.back().role = std::array{Role::kToolHost, Role::kSubscriber, Role::kListener,
                                              Role::kCliAdmin}[below(4)];
        }
        return made;
    }
    Glob pattern() { return Glob(patterns[below(patterns.size())]); }
    std::size_t below(std::size_t end) { return random_() % end; }
    void shuffle(std::vector<PeerRule>& rules) {
        std::ranges::shuffle(rules, random_);
        for (PeerRule& rule : rules) {
            for (auto* list : {&rule.tenants, &rule.allow, &rule.deny})
                std::ranges::shuffle(*list, random_);
        }
    }
    template <class F>
    void for_each_question(F&& visit) const {
        for (const PrincipalRef& who : principals) {
            for (const std::string& action : actions) {
                for (const char* tenant : {"", "default", "harbour", "hotel"})
                    visit(*who, action, std::string_view(tenant));
            }
        }
    }

    const std::vector<PrincipalRef> principals{kLog, peer("tool_host/memory", Role::kToolHost),
                                               peer("listener/chat", Role::kListener),
                                               peer("operator/desk", Role::kCliAdmin)};
    const std::vector<std::string> actions = all_actions();

private:
    bool chance(unsigned of) { return random_() % of == 0; }
    std::vector<Glob> some(const std::vector<std::string>& from, std::size_t most) {
        std::vector<Glob> made(below(most));
        for (Glob& glob : made) glob = Glob(from[below(from.size())]);
        return made;
    }

    const std::vector<std::string> tenants{"default", "harbour", "h*", "*"};
    const std::vector<std::string> patterns{"*",
                                            "events.*",
                                            "events.publish:*",
                                            "events.subscribe:cron.*",
                                            "events.*:tool.call.*",
                                            "control.*",
                                            "control.peers:*",
                                            "events.publish:cron.triggered",
                                            "events.subscribe:channel.message.received",
                                            "*.completed"};
    std::mt19937 random_;
};

constexpr std::uint32_t kSeeds = 300;

TEST(PolicyActions, WhatIsDeniedSomewhereIsAllowedNowhere) {
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
        RandomPeers world(seed);
        const auto rules = world.rules();
        const auto policy = policy_of_peers(rules);
        world.for_each_question(
            [&](const Principal& who, const std::string& action, std::string_view tenant) {
                const auto rule = std::ranges::find(rules, who.id, &PeerRule::id);
                const bool denied =
                    rule != rules.end() && std::ranges::any_of(rule->deny, [&](const Glob& glob) {
                        return glob.matches(action);
                    });
                if (denied)
                    ASSERT_FALSE(may(*policy, who, action, tenant))
                        << "seed " << seed << " " << who.id << " " << action;
            });
    }
}

TEST(PolicyActions, AddingADenyNeverAllowsMoreAndAddingAnAllowNeverAllowsLess) {
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
        RandomPeers world(seed);
        const auto rules = world.rules();
        if (rules.empty()) continue;
        const auto before = policy_of_peers(rules);
        const std::size_t changed = world.below(rules.size());
        auto denying = rules, allowing = rules;
        denying[changed].deny.push_back(world.pattern());
        const Glob added = world.pattern();
        allowing[changed].allow.push_back(added);
        const auto narrower = policy_of_peers(denying), wider = policy_of_peers(allowing);
        world.for_each_question(
            [&](const Principal& who, const std::string& action, std::string_view tenant) {
                const bool was = may(*before, who, action, tenant);
                if (may(*narrower, who, action, tenant))
                    ASSERT_TRUE(was) << "seed " << seed << " " << who.id << " " << action;
                if (was)
                    ASSERT_TRUE(may(*wider, who, action, tenant))
                        << "seed " << seed << " " << who.id << " " << action;
                const bool is_meant = who.id == rules[changed].id && added.matches(action);
                if (!is_meant)
                    ASSERT_EQ(may(*wider, who, action, tenant), was)
                        << "seed " << seed << " " << who.id << " " << action;
            });
    }
}

TEST(PolicyActions, TheOrderOfTheRulesDoesNotMatter) {
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
        RandomPeers world(seed);
        auto rules = world.rules();
        const auto one = policy_of_peers(rules);
        world.shuffle(rules);
        const auto other = policy_of_peers(rules);
        world.for_each_question(
            [&](const Principal& who, const std::string& action, std::string_view tenant) {
                ASSERT_EQ(may(*one, who, action, tenant), may(*other, who, action, tenant))
                    << "seed " << seed << " " << who.id << " " << action;
            });
    }
}

TEST(PolicyActions, TenantsDoNotMix) {
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
        RandomPeers world(seed);
        const auto rules = world.rules();
        const auto policy = policy_of_peers(rules);
        world.for_each_question([&](const Principal& who, const std::string& action,
                                    std::string_view tenant) {
            if (tenant.empty() || !may(*policy, who, action, tenant)) return;
            const auto rule = std::ranges::find(rules, who.id, &PeerRule::id);
            const bool named = rule != rules.end() && !rule->tenants.empty();
            const bool its =
                named ? std::ranges::any_of(rule->tenants,
                                            [&](const Glob& glob) { return glob.matches(tenant); })
                      : tenant == kDefaultTenant;
            ASSERT_TRUE(its) << "seed " << seed << " " << who.id << " " << tenant;
        });
    }
}

TEST(PolicyActions, NoPolicyGrantsPairing) {
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
        RandomPeers world(seed);
        const auto policy = policy_of_peers(world.rules());
        for (const PrincipalRef& who : world.principals) {
            for (const char* wish : {"pairing", "pairing.start", "control.pairing:start",
                                     "control.peers:pair", "control.peers:renew"}) {
                ASSERT_FALSE(may(*policy, *who, wish))
                    << "seed " << seed << " " << who->id << " " << wish;
            }
        }
    }
}

TEST(PolicyActions, WhatAPatternIsGrantedEachOfItsActionsIsGranted) {
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
        RandomPeers world(seed);
        const auto policy = policy_of_peers(world.rules());
        for (const char* asked :
             {"events.subscribe:*", "events.publish:channel.*", "events.subscribe:cron.*",
              "control.peers:*", "events.publish:*.completed"}) {
            for (const PrincipalRef& who : world.principals) {
                if (!may(*policy, *who, asked)) continue;
                for (const std::string& action : world.actions) {
                    if (Glob(asked).matches(action))
                        ASSERT_TRUE(may(*policy, *who, action))
                            << "seed " << seed << " " << who->id << " " << asked << " " << action;
                }
            }
        }
    }
}

}  // namespace
}  // namespace crab::core
