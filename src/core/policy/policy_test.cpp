#include "core/policy/policy.hpp"

#include "core/call/test_tools.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace crab::core {
namespace {

const ToolRef kCamera = tool_of("camera", "phone", ConnectionId{1});
const ToolRef kSms = tool_of("sms.send", "phone", ConnectionId{1});
const PrincipalRef kAnn = principal_of("caller/ann");

PolicyRule deny(std::initializer_list<const char*> names) {
    PolicyRule rule;
    rule.call_deny = globs(names);
    return rule;
}
PolicyRule allow(std::initializer_list<const char*> names) {
    PolicyRule rule;
    rule.call_allow = globs(names);
    return rule;
}
Verdict decide(const std::vector<PolicyRule>& rules, const Principal& who, const Tool& tool,
               const char* args = nullptr) {
    const auto policy = policy_of(rules);
    if (args == nullptr) return policy->decide_call(who, tool, std::nullopt).verdict;
    simdjson::dom::parser parser;
    return policy->decide_call(who, tool, parser.parse(std::string_view(args)).value()).verdict;
}

TEST(Policy, WithoutRulesTheRolesDecide) {
    for (const Role role : {Role::kCaller, Role::kOperator})
        EXPECT_EQ(decide({}, *principal_of("p", {role}), *kCamera), Verdict::kAllow);
    for (const Role role :
         {Role::kDevice, Role::kToolHost, Role::kSubscriber, Role::kListener, Role::kCliAdmin}) {
        EXPECT_EQ(decide({}, *principal_of("p", {role}), *kCamera), Verdict::kDeny)
            << name_of(role);
    }
    EXPECT_EQ(decide({}, *principal_of("p", {}), *kCamera), Verdict::kDeny);
    EXPECT_EQ(decide({allow({"*"})}, *principal_of("p", {Role::kDevice}), *kCamera),
              Verdict::kDeny);
}

TEST(Policy, ADeviceMayCallItsOwnToolsAndNoOthers) {
    const auto own = tool_of("camera", "phone", ConnectionId{1});
    own->source.owner = "device/phone";
    const auto others = tool_of("camera", "tablet", ConnectionId{2});
    others->source.owner = "device/tablet";
    const auto phone = principal_of("device/phone", {Role::kDevice});
    EXPECT_EQ(decide({}, *phone, *own), Verdict::kAllow);
    EXPECT_EQ(decide({}, *phone, *others), Verdict::kDeny);
    EXPECT_EQ(decide({}, *phone, *tool_of("list_devices")), Verdict::kDeny)
        << "a built-in has no owner, and tells of others";
    EXPECT_EQ(decide({deny({"camera"})}, *phone, *own), Verdict::kDeny) << "rules still narrow";
    EXPECT_EQ(decide({}, *principal_of("device/phone", {Role::kDevice, Role::kCaller}), *others),
              Verdict::kAllow);
}

TEST(Policy, DenyWinsOverAllowInAnyOrder) {
    EXPECT_EQ(decide({allow({"*"}), deny({"camera"})}, *kAnn, *kCamera), Verdict::kDeny);
    EXPECT_EQ(decide({deny({"camera"}), allow({"camera"})}, *kAnn, *kCamera), Verdict::kDeny);
    EXPECT_EQ(decide({deny({"phone__*"})}, *kAnn, *kCamera), Verdict::kDeny);
    EXPECT_EQ(decide({deny({"tablet__*"})}, *kAnn, *kCamera), Verdict::kAllow);
}

TEST(Policy, AnAllowListConfinesWhomItSpeaksOfAndNobodyElse) {
    PolicyRule only_sms = allow({"sms.*"});
    only_sms.principal = Glob("caller/ann");
    EXPECT_EQ(decide({only_sms}, *kAnn, *kSms), Verdict::kAllow);
    EXPECT_EQ(decide({only_sms}, *kAnn, *kCamera), Verdict::kDeny);
    EXPECT_EQ(decide({only_sms}, *principal_of("caller/bob"), *kCamera), Verdict::kAllow);
    EXPECT_EQ(decide({only_sms, allow({"camera"})}, *kAnn, *kCamera), Verdict::kAllow);
}

TEST(Policy, ADenialByAnAllowListNamesTheList) {
    PolicyRule only_sms = allow({"sms.*"});
    only_sms.register_allow = globs({"sms.*"});
    const auto policy = policy_of({deny({"other"}), only_sms});
    EXPECT_EQ(
        policy->decide_call(*kAnn, *kCamera, std::nullopt).rule,
        "policy[1].call.allow: an allow list speaks of this principal and does not list the name");
    EXPECT_TRUE(
        policy->decide_registration(*principal_of("device/phone", {Role::kDevice}), "camera")
            .rule.starts_with("policy[1].register.allow: "));
}

TEST(Policy, AnAllowListOfOneSourceConfinesEverywhere) {
    PolicyRule rule = allow({"*"});
    rule.sources = globs({"device/tablet"});
    EXPECT_EQ(decide({rule}, *kAnn, *kCamera), Verdict::kDeny);
    rule.sources = globs({"device/tablet", "device/ph*"});
    EXPECT_EQ(decide({rule}, *kAnn, *kCamera), Verdict::kAllow);
}

TEST(Policy, RulesMaySpeakOfRolesTenantsAndSources) {
    PolicyRule rule = deny({"*"});
    rule.roles = {Role::kDevice};
    EXPECT_EQ(decide({rule}, *kAnn, *kCamera), Verdict::kAllow);
    EXPECT_EQ(decide({rule}, *principal_of("d", {Role::kDevice, Role::kCaller}), *kCamera),
              Verdict::kDeny);
    rule = deny({"*"});
    rule.tenant = Glob("ac*");
    EXPECT_EQ(decide({rule}, *principal_of("p", {Role::kCaller}, "acme"), *kCamera),
              Verdict::kDeny);
    EXPECT_EQ(decide({rule}, *principal_of("p", {Role::kCaller}, "other"), *kCamera),
              Verdict::kAllow);
    rule = deny({"*"});
    rule.sources = globs({"built_in"});
    EXPECT_EQ(decide({rule}, *kAnn, *tool_of("clock")), Verdict::kDeny);
    EXPECT_EQ(decide({rule}, *kAnn, *kCamera), Verdict::kAllow);
}

TEST(Policy, ApprovalIsAskedForUnlessDenied) {
    PolicyRule ask;
    ask.call_needs_approval = globs({"sms.*"});
    EXPECT_EQ(decide({ask}, *kAnn, *kSms), Verdict::kNeedsApproval);
    EXPECT_EQ(decide({ask, allow({"sms.send"})}, *kAnn, *kSms), Verdict::kNeedsApproval);
    EXPECT_EQ(decide({ask, deny({"sms.send"})}, *kAnn, *kSms), Verdict::kDeny);
    EXPECT_TRUE(policy_of({ask})->may_call(*kAnn, *kSms));
}

ArgumentCondition at(std::string pointer) {
    return {.pointer = std::move(pointer),
            .equals = {},
            .glob = {},
            .matches = {},
            .min = {},
            .max = {}};
}

TEST(Policy, ConditionsNarrowARuleToCallsWithSuchArguments) {
    PolicyRule rule = deny({"sms.send"});
    rule.where = {at("/to")};
    rule.where[0].glob = "+49*";
    EXPECT_EQ(decide({rule}, *kAnn, *kSms, R"({"to":"+4912"})"), Verdict::kDeny);
    EXPECT_EQ(decide({rule}, *kAnn, *kSms, R"({"to":"+1"})"), Verdict::kAllow);
    EXPECT_EQ(decide({rule}, *kAnn, *kSms, R"({})"), Verdict::kAllow);
    EXPECT_EQ(decide({rule}, *kAnn, *kSms, R"({"to":5})"), Verdict::kAllow);
    EXPECT_EQ(decide({rule}, *kAnn, *kSms), Verdict::kAllow)
        << "a listing asks whether any call may be made";
}

TEST(Policy, ConditionsOnArgumentsThatNobodySeesDenyAndAskAndAllowNothing) {
    const auto not_json = [](const std::vector<PolicyRule>& rules) {
        const auto policy = policy_of(rules);
        const Decision decision = policy->decide_call(*kAnn, *kSms, CallArguments::not_json());
        return std::pair(decision.verdict, std::string(decision.rule));
    };
    const auto only_abroad = [](PolicyRule rule) {
        rule.where = {at("/to")};
        rule.where[0].glob = "+1*";
        return rule;
    };
    PolicyRule ask;
    ask.call_needs_approval = globs({"sms.*"});
    EXPECT_EQ(not_json({only_abroad(deny({"sms.*"}))}).first, Verdict::kDeny);
    EXPECT_EQ(not_json({only_abroad(deny({"sms.*"}))}).second,
              "policy[0].call.deny: sms.*, whose conditions cannot be checked: the arguments are "
              "no JSON");
    EXPECT_EQ(not_json({only_abroad(allow({"sms.*"}))}).first, Verdict::kDeny);
    EXPECT_EQ(not_json({only_abroad(ask)}).first, Verdict::kNeedsApproval);
    EXPECT_EQ(not_json({only_abroad(ask), allow({"*"})}).first, Verdict::kNeedsApproval);
    EXPECT_EQ(not_json({only_abroad(allow({"sms.*"})), allow({"*"})}).first, Verdict::kAllow)
        << "a rule without conditions allows it";
    EXPECT_EQ(not_json({only_abroad(deny({"camera"}))}).first, Verdict::kAllow)
        << "of another tool";
    EXPECT_EQ(not_json({deny({"camera"}), allow({"sms.*"})}).first, Verdict::kAllow);
}

TEST(Policy, ARuleMaySpeakOfToolsWithoutEffectsAlone) {
    const auto tool_with = [](bool known, bool effects) {
        Tool tool = *kSms;
        tool.spec.effects_known = known;
        tool.spec.side_effects = effects;
        return tool;
    };
    PolicyRule may_only_read = allow({"*"});
    may_only_read.effects = false;
    EXPECT_EQ(decide({may_only_read}, *kAnn, tool_with(true, false), "{}"), Verdict::kAllow);
    EXPECT_EQ(decide({may_only_read}, *kAnn, tool_with(true, true), "{}"), Verdict::kDeny);
    EXPECT_EQ(decide({may_only_read}, *kAnn, tool_with(false, false), "{}"), Verdict::kDeny)
        << "nobody who is trusted said so";
    EXPECT_EQ(decide({may_only_read}, *kAnn, tool_with(false, true)), Verdict::kDeny)
        << "nor is it listed";
    PolicyRule ask;
    ask.call_needs_approval = globs({"*"});
    ask.effects = true;
    EXPECT_EQ(decide({ask}, *kAnn, tool_with(true, false), "{}"), Verdict::kAllow);
    EXPECT_EQ(decide({ask}, *kAnn, tool_with(true, true), "{}"), Verdict::kNeedsApproval);
    EXPECT_EQ(decide({ask}, *kAnn, tool_with(false, false), "{}"), Verdict::kNeedsApproval);
}

TEST(Policy, EveryKindOfConditionHoldsAsSaid) {
    PolicyRule rule = deny({"*"});
    const auto denied = [&](ArgumentCondition condition, const char* args) {
        rule.where = {std::move(condition)};
        return decide({rule}, *kAnn, *kSms, args) == Verdict::kDeny;
    };
    ArgumentCondition equals = at("/a/0");
    equals.equals = R"({"x":1.0})";
    EXPECT_TRUE(denied(equals, R"({"a":[{"x":1}]})"));
    EXPECT_FALSE(denied(equals, R"({"a":[{"x":2}]})"));
    ArgumentCondition matches = at("/p");
    matches.matches = "^/etc|secret";
    EXPECT_TRUE(denied(matches, R"({"p":"/etc/passwd"})"));
    EXPECT_TRUE(denied(matches, R"({"p":"my secrets"})"));
    EXPECT_FALSE(denied(matches, R"({"p":"/home/etc"})"));
    ArgumentCondition range = at("/n");
    range.min = 5;
    range.max = 10;
    EXPECT_TRUE(denied(range, R"({"n":5})"));
    EXPECT_TRUE(denied(range, R"({"n":9.5})"));
    EXPECT_FALSE(denied(range, R"({"n":10.5})"));
    EXPECT_FALSE(denied(range, R"({"n":"7"})"));
    EXPECT_TRUE(denied(at("/there"), R"({"there":null})")) << "only the place is asked for";
    EXPECT_FALSE(denied(at("/there"), R"({})"));
}

TEST(Policy, SeveralConditionsMustAllHold) {
    PolicyRule rule = allow({"sms.send"});
    rule.where = {at("/a"), at("/b")};
    EXPECT_EQ(decide({rule}, *kAnn, *kSms, R"({"a":1,"b":1})"), Verdict::kAllow);
    EXPECT_EQ(decide({rule}, *kAnn, *kSms, R"({"a":1})"), Verdict::kDeny)
        << "the list confines, whatever the arguments";
    EXPECT_EQ(decide({rule}, *kAnn, *kSms), Verdict::kAllow);
}

TEST(Policy, WhatDoesNotCompileIsRefusedWithItsPlace) {
    PolicyRule bad = deny({"*"});
    bad.where = {at("/a")};
    bad.where[0].matches = "(";
    auto refused = Policy::make({deny({"a"}), bad});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgs);
    EXPECT_NE(refused.error().message.find("policy[1]"), std::string::npos);
    bad.where[0].matches.reset();
    bad.where[0].equals = "{";
    EXPECT_FALSE(Policy::make({bad}));
}

TEST(Policy, TheDecisionNamesItsRule) {
    const auto policy = policy_of({allow({"sms.*"}), deny({"camera"})});
    EXPECT_EQ(policy->decide_call(*kAnn, *kSms, std::nullopt).rule, "policy[0].call.allow: sms.*");
    EXPECT_EQ(policy->decide_call(*kAnn, *kCamera, std::nullopt).rule,
              "policy[1].call.deny: camera");
    EXPECT_FALSE(policy->decide_call(*kAnn, *tool_of("x"), std::nullopt).rule.empty());
}

TEST(Policy, RegistrationFollowsRolesDenyAndAllowLists) {
    const auto device = principal_of("device/phone", {Role::kDevice});
    EXPECT_EQ(policy_of()->decide_registration(*device, "a").verdict, Verdict::kAllow);
    EXPECT_EQ(policy_of()->decide_registration(*kAnn, "a").verdict, Verdict::kDeny);
    PolicyRule rule;
    rule.register_allow = globs({"a*"});
    rule.register_deny = globs({"ab"});
    const auto policy = policy_of({rule});
    EXPECT_EQ(policy->decide_registration(*device, "aa").verdict, Verdict::kAllow);
    EXPECT_EQ(policy->decide_registration(*device, "ab").verdict, Verdict::kDeny);
    EXPECT_EQ(policy->decide_registration(*device, "b").verdict, Verdict::kDeny);
}

/// Policies, principals, tools and arguments from a small world, so that rules meet often.
class RandomWorld {
public:
    explicit RandomWorld(std::uint32_t seed) : random_(seed) {}
    PolicyRule rule() {
        PolicyRule made;
        if (chance(3)) made.principal = glob({"caller/*", "caller/ann", "device/*"});
        if (chance(5)) made.roles = {chance(2) ? Role::kCaller : Role::kOperator};
        if (chance(5)) made.tenant = glob({"acme", "*"});
        if (chance(3)) made.sources = {glob({"device/*", "device/a", "built_in"})};
        if (chance(2)) made.call_allow = {glob({"x", "x*", "a__*", "*"})};
        if (chance(2)) made.call_deny = {glob({"y", "x*", "b__*", "*z"})};
        if (chance(4)) made.call_needs_approval = {glob({"x", "y"})};
        if (chance(3)) {
            made.where = {at("/n")};
            made.where[0].min = static_cast<double>(random_() % 3);
        }
        return made;
    }
    std::vector<PolicyRule> rules() {
        std::vector<PolicyRule> made(random_() % 4);
        for (PolicyRule& each : made) each = rule();
        return made;
    }
    std::size_t below(std::size_t end) { return random_() % end; }

private:
    bool chance(unsigned of) { return random_() % of == 0; }
    Glob glob(std::initializer_list<const char*> patterns) {
        return Glob(patterns.begin()[random_() % patterns.size()]);
    }
    std::mt19937 random_;
};

struct Everything {
    std::vector<PrincipalRef> principals{principal_of("caller/ann"),
                                         principal_of("caller/bob", {Role::kCaller}, "acme"),
                                         principal_of("local/0", {Role::kOperator}),
                                         principal_of("device/a", {Role::kDevice, Role::kCaller})};
    std::vector<ToolRef> tools{tool_of("x"), tool_of("x", "a"), tool_of("y", "b"),
                               tool_of("xz", "a"), tool_of("q")};
    std::vector<const char*> args{"{}", R"({"n":0})", R"({"n":2})"};
    simdjson::dom::parser parser;

    template <class F>
    void for_each(F&& visit) {
        for (const char* text : args) {
            const auto element = parser.parse(std::string_view(text)).value();
            for (const auto& who : principals) {
                for (const auto& tool : tools) visit(*who, *tool, std::optional(element));
            }
        }
    }
};

bool allowed(const Policy& policy, const Principal& who, const Tool& tool,
             std::optional<simdjson::dom::element> args) {
    return policy.decide_call(who, tool, args).verdict != Verdict::kDeny;
}

TEST(Policy, AddingADenyNeverAllowsMore) {
    Everything all;
    for (std::uint32_t seed = 1; seed <= 400; ++seed) {
        RandomWorld world(seed);
        auto rules = world.rules();
        const auto before = policy_of(rules);
        PolicyRule added = world.rule();
        added.call_allow.clear();
        added.call_needs_approval.clear();
        rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(world.below(rules.size() + 1)),
                     added);
        const auto after = policy_of(rules);
        all.for_each([&](const Principal& who, const Tool& tool, auto args) {
            if (allowed(*after, who, tool, args))
                ASSERT_TRUE(allowed(*before, who, tool, args)) << "seed " << seed;
        });
    }
}

TEST(Policy, AddingAnAllowListAllowsNothingThatItDoesNotList) {
    Everything all;
    for (std::uint32_t seed = 1; seed <= 400; ++seed) {
        RandomWorld world(seed);
        auto rules = world.rules();
        const auto before = policy_of(rules);
        PolicyRule added = world.rule();
        added.call_deny.clear();
        added.call_needs_approval.clear();
        const auto alone = policy_of({added});
        const bool first = std::ranges::all_of(
            rules, [](const PolicyRule& rule) { return rule.call_allow.empty(); });
        rules.push_back(added);
        const auto after = policy_of(rules);
        all.for_each([&](const Principal& who, const Tool& tool, auto args) {
            if (!allowed(*after, who, tool, args) || allowed(*before, who, tool, args)) return;
            ASSERT_FALSE(first) << "the first allow list of all can only confine; seed " << seed;
            ASSERT_TRUE(allowed(*alone, who, tool, args)) << "seed " << seed;
        });
    }
}

TEST(Policy, WhatSomeArgumentsMakeCallableIsListedAndWhatIsNotListedNoneMakes) {
    Everything all;
    for (std::uint32_t seed = 1; seed <= 400; ++seed) {
        const auto policy = policy_of(RandomWorld(seed).rules());
        all.for_each([&](const Principal& who, const Tool& tool, auto args) {
            if (allowed(*policy, who, tool, args))
                ASSERT_TRUE(policy->may_call(who, tool)) << "seed " << seed;
        });
    }
}

TEST(Policy, WithoutArgumentConditionsListingAndCallingAreOneDecision) {
    Everything all;
    for (std::uint32_t seed = 1; seed <= 400; ++seed) {
        auto rules = RandomWorld(seed).rules();
        for (PolicyRule& rule : rules) rule.where.clear();
        const auto policy = policy_of(rules);
        all.for_each([&](const Principal& who, const Tool& tool, auto args) {
            ASSERT_EQ(policy->decide_call(who, tool, args).verdict,
                      policy->decide_call(who, tool, std::nullopt).verdict)
                << "seed " << seed;
        });
    }
}

TEST(Policy, TheOrderOfTheRulesDoesNotMatter) {
    Everything all;
    for (std::uint32_t seed = 1; seed <= 400; ++seed) {
        auto rules = RandomWorld(seed).rules();
        const auto one = policy_of(rules);
        std::mt19937 random(seed);
        std::ranges::shuffle(rules, random);
        const auto other = policy_of(rules);
        all.for_each([&](const Principal& who, const Tool& tool, auto args) {
            ASSERT_EQ(one->decide_call(who, tool, args).verdict,
                      other->decide_call(who, tool, args).verdict)
                << "seed " << seed;
            ASSERT_EQ(one->decide_registration(who, tool.spec.name).verdict,
                      other->decide_registration(who, tool.spec.name).verdict)
                << "seed " << seed;
        });
    }
}

TEST(Policy, NoEntryOfAPeerChangesWhatMayBeCalledAndNoRuleWhatPeersMayDo) {
    const auto rules_alone = policy_of({deny({"camera"})});
    const auto both = Policy::make({deny({"camera"})}, {{.id = "caller/ann",
                                                         .role = Role::kCliAdmin,
                                                         .tenants = {},
                                                         .allow = globs({"*"}),
                                                         .deny = {}}})
                          .value();
    for (const auto& tool : {kCamera, kSms}) {
        EXPECT_EQ(both->decide_call(*kAnn, *tool, std::nullopt).verdict,
                  rules_alone->decide_call(*kAnn, *tool, std::nullopt).verdict);
    }
    EXPECT_EQ(policy_of({allow({"*"})})
                  ->decide_action(*kAnn, "events.subscribe:cron.triggered", {})
                  .verdict,
              Verdict::kDeny);
}

TEST(Roles, TextAndBack) {
    const Roles roles{Role::kCaller, Role::kCliAdmin};
    EXPECT_EQ(roles.to_text(), "caller,cli_admin");
    EXPECT_EQ(Roles::parse(roles.to_text()), roles);
    EXPECT_EQ(Roles::parse(""), Roles{});
    for (const char* bad :
         {"nobody", "caller,nobody", ",caller", "caller,", "caller,,device", "Caller"})
        EXPECT_EQ(Roles::parse(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace crab::core
