#include "core/policy/policy_trace.hpp"

#include "core/call/test_tools.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::core {
namespace {

using Effect = PolicyStep::Effect;

constexpr std::array kNames{"camera", "sms.send", "disk_usage", "door"};
constexpr std::array kPatterns{"*",    "camera", "sms.*", "disk*", "phone__*", "tablet__d?or",
                               "door", "s*d",    "none"};
constexpr std::array kArguments{R"({})", R"({"path":"/etc/passwd","n":3})",
                                R"({"path":"/home/ann","n":1})", R"({"n":9})", R"({"path":7})"};

/// Random policies and calls; the same for the same seed.
class Cases {
public:
    explicit Cases(unsigned seed) : random_(seed) {}

    const char* one_of(const auto& choices) { return choices[random_() % choices.size()]; }
    bool chance(unsigned percent) { return random_() % 100 < percent; }

    std::vector<Glob> patterns(unsigned percent) {
        std::vector<Glob> made;
        while (made.size() < 3 && chance(percent)) made.emplace_back(one_of(kPatterns));
        return made;
    }
    PolicyRule rule() {
        static constexpr std::array kPrincipals{"*", "caller/*", "caller/ann", "device/*",
                                                "local/1000"};
        PolicyRule made;
        if (chance(80)) made.principal = Glob(one_of(kPrincipals));
        if (chance(20)) made.tenant = Glob(chance(50) ? "acme" : "de*");
        if (chance(15)) made.roles = {chance(50) ? Role::kCaller : Role::kOperator};
        if (chance(15)) made.sources = globs({"device/tablet", "built_in"});
        if (chance(15)) made.effects = chance(50);
        made.call_deny = patterns(12);
        made.call_allow = patterns(25);
        made.call_needs_approval = patterns(20);
        made.line = static_cast<int>(random_() % 500 + 1);
        if (chance(25)) {
            made.where.emplace_back().pointer = chance(50) ? "/path" : "/n";
            if (made.where.back().pointer == "/path")
                made.where.back().glob = "/etc/*";
            else
                made.where.back().min = 2;
        }
        return made;
    }
    std::vector<PolicyRule> rules() {
        std::vector<PolicyRule> made(random_() % 6);
        std::ranges::generate(made, [this] { return rule(); });
        return made;
    }
    ToolRef tool() {
        static constexpr std::array kSlugs{"phone", "tablet", ""};
        ToolSpec spec;
        spec.effects_known = chance(40);
        const std::string slug = one_of(kSlugs);
        const auto made = tool_of(one_of(kNames), slug, ConnectionId{1}, {}, std::move(spec));
        if (!slug.empty()) made->source.owner = "device/" + slug;
        return made;
    }
    PrincipalRef principal() {
        switch (random_() % 5) {
            case 0: return principal_of("caller/ann", {Role::kCaller}, "acme");
            case 1: return principal_of("caller/bob", {Role::kCaller}, "default");
            case 2: return principal_of("device/phone", {Role::kDevice}, "default");
            case 3: return principal_of("local/1000", {Role::kOperator});
            default: return principal_of("subscriber/log", {Role::kSubscriber});
        }
    }

private:
    std::mt19937 random_;
};

/// The verdict by what STYLE and the documents say of rules: a denial wins; of whom an allow list
/// speaks is denied what no list allows; an approval is needed also for what is allowed.
Verdict verdict_of(const std::vector<PolicyStep>& steps) {
    const auto any = [&](Effect effect) {
        return std::ranges::any_of(steps, [&](const PolicyStep& step) {
            return step.matched && step.effect == effect &&
                   (effect != Effect::kAllow || step.rule.starts_with("policy["));
        });
    };
    if (any(Effect::kDeny)) return Verdict::kDeny;
    if (any(Effect::kConfine) && !any(Effect::kAllow)) return Verdict::kDeny;
    return any(Effect::kNeedsApproval) ? Verdict::kNeedsApproval : Verdict::kAllow;
}

/// The number of the entry that a rule names; nothing for the default of the roles.
std::optional<std::size_t> entry_of(std::string_view rule) {
    if (!rule.starts_with("policy[")) return std::nullopt;
    return static_cast<std::size_t>(std::stoul(std::string(rule.substr(7))));
}

/// What a call decided and what its trace says agree; returns the verdict, for counting.
std::string check(const std::vector<PolicyRule>& rules, const Decision& decision,
                  const Decision& traced, const PolicyTrace& trace) {
    EXPECT_EQ(traced.verdict, decision.verdict);
    EXPECT_EQ(traced.rule, decision.rule);
    const auto& steps = trace.steps();
    EXPECT_EQ(verdict_of(steps), decision.verdict);
    const auto last = std::ranges::find_if(steps.rbegin(), steps.rend(), &PolicyStep::matched);
    if (last == steps.rend()) {
        ADD_FAILURE() << "no step matched";
        return "";
    }
    EXPECT_EQ(last->rule, decision.rule);
    EXPECT_EQ(name_of(last->effect), name_of(decision.verdict));
    for (const PolicyStep& step : steps) {
        EXPECT_FALSE(step.because.empty());
        const auto entry = entry_of(step.rule);
        EXPECT_EQ(step.line, entry ? rules.at(*entry).line : 0) << step.rule;
    }
    return fmt::format("{} by {}", name_of(decision.verdict),
                       entry_of(decision.rule) ? "a rule" : "a role");
}

TEST(PolicyTrace, SaysOfRandomCallsWhatTheCallsAreTold) {
    Cases cases(45);
    std::map<std::string, int> ends;
    for (int number = 0; number < 1'000; ++number) {
        const std::vector<PolicyRule> rules = cases.rules();
        const auto policy = policy_of(rules);
        const ToolRef tool = cases.tool();
        const PrincipalRef who = cases.principal();
        const std::string_view tenant =
            cases.chance(50) ? policy->home_tenant(*who) : std::string_view();
        simdjson::dom::parser parser;
        const std::string_view text = cases.one_of(kArguments);
        CallArguments args(parser.parse(text).value());
        if (cases.chance(20)) args = std::nullopt;
        if (cases.chance(10)) args = CallArguments::not_json();
        SCOPED_TRACE(fmt::format("case {}: {} {} {}", number, who->id, tool->unique_name, text));
        PolicyTrace trace;
        const Decision traced = policy->decide_call(*who, *tool, args, tenant, &trace);
        ++ends[check(rules, policy->decide_call(*who, *tool, args, tenant), traced, trace)];
        if (testing::Test::HasFailure()) break;
    }
    for (const char* end : {"allow by a role", "allow by a rule", "deny by a role",
                            "deny by a rule", "needs_approval by a rule"})
        EXPECT_GE(ends[end], 20) << end;
}

/// `effect matched because` of the steps of one call.
std::vector<std::string> told(const std::vector<PolicyRule>& rules, const Principal& who,
                              const Tool& tool, const char* args = nullptr) {
    simdjson::dom::parser parser;
    CallArguments seen(std::nullopt);
    if (args != nullptr) seen = CallArguments(parser.parse(std::string_view(args)).value());
    PolicyTrace trace;
    policy_of(rules)->decide_call(who, tool, seen, who.tenant.text(), &trace);
    std::vector<std::string> lines;
    for (const PolicyStep& step : trace.steps())
        lines.push_back(fmt::format("{}{}: {}", step.matched ? "" : "not ", name_of(step.effect),
                                    step.because));
    return lines;
}

TEST(PolicyTrace, NamesWhatKeepsARuleFromACall) {
    const auto ann = principal_of("caller/ann", {Role::kCaller}, "acme");
    const auto camera = tool_of("camera", "phone", ConnectionId{1});
    std::vector<PolicyRule> rules(6);
    for (PolicyRule& rule : rules) rule.call_deny = globs({"*"});
    rules[0].principal = Glob("device/*");
    rules[1].tenant = Glob("default");
    rules[2].roles = {Role::kOperator};
    rules[3].effects = false;
    rules[4].sources = globs({"built_in", "device/tablet"});
    rules[5].where.emplace_back().pointer = "/path";
    rules[5].where.back().glob = "/etc/*";
    const std::vector<std::string> expected{
        "not deny: it is about device/*, not caller/ann",
        "not deny: it is about the tenant default, not acme",
        "not deny: it is about the roles operator; caller/ann has caller",
        "not deny: it is about tools that only read",
        "not deny: it is about tools of built_in, device/tablet, not of device/phone",
        "not deny: its condition on /path does not hold",
        "allow: caller/ann has the roles caller"};
    EXPECT_EQ(told(rules, *ann, *camera, R"({"path":"/home"})"), expected);
    EXPECT_EQ(told({rules[5]}, *ann, *camera).front(), "not deny: it depends on /path");
    EXPECT_EQ(told({rules[5]}, *ann, *camera, R"({"path":"/etc/x"})").back(),
              "deny: it names camera, and its conditions hold; a denial wins over all else");
}

TEST(PolicyTrace, ShowsTheRulesAfterADenialAsWell) {
    std::vector<PolicyRule> rules(3);
    rules[0].call_deny = globs({"camera"});
    rules[1].call_allow = globs({"sms.*"});
    rules[2].call_needs_approval = globs({"cam*"});
    const auto lines = told(rules, *principal_of("caller/ann"), *tool_of("camera"));
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines[1], "confine: it does not name camera");
    EXPECT_EQ(lines[2], "needs_approval: it names camera");
    EXPECT_TRUE(lines[3].starts_with("deny: it names camera")) << lines[3];
}

}  // namespace
}  // namespace crab::core
