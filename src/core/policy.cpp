#include "core/policy.hpp"

#include "json/value.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

namespace crab::core {
namespace {

constexpr std::string_view kCallerRole = "role default: callers and operators may call";
constexpr std::string_view kNoCallerRole = "role default: only callers and operators may call";
constexpr std::string_view kDeviceRole = "role default: devices and tool hosts may register";
constexpr std::string_view kNoDeviceRole = "role default: only devices and tool hosts may register";
constexpr std::string_view kUnlisted = "an allow list speaks of this principal and does not list the name";

/// Patterns together with the sentence that names the rule, made once.
struct NameList {
    std::vector<Glob> globs;
    std::vector<std::string> rules;

    NameList(std::vector<Glob> patterns, std::size_t index, std::string_view key) : globs(std::move(patterns)) {
        for (const Glob& glob : globs) rules.push_back(fmt::format("policy[{}].{}: {}", index, key, glob.pattern()));
    }
    const std::string* find(std::string_view name, std::string_view qualified) const {
        for (std::size_t i = 0; i < globs.size(); ++i) {
            if (globs[i].matches(name) || (!qualified.empty() && globs[i].matches(qualified))) return &rules[i];
        }
        return nullptr;
    }
};

struct Condition {
    std::string pointer;
    std::optional<json::Value> equals;
    std::optional<Glob> glob;
    std::unique_ptr<RE2> matches;
    std::optional<double> min, max;

    bool holds(simdjson::dom::element args) const {
        simdjson::dom::element value;
        if (args.at_pointer(pointer).get(value) != simdjson::SUCCESS) return false;
        if (equals && !json::equal(value, *equals)) return false;
        if (glob || matches) {
            std::string_view text;
            if (value.get(text) != simdjson::SUCCESS) return false;
            if (glob && !glob->matches(text)) return false;
            if (matches && !RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *matches)) return false;
        }
        if (min || max) {
            double number = 0;
            if (value.get(number) != simdjson::SUCCESS) return false;
            if ((min && number < *min) || (max && number > *max)) return false;
        }
        return true;
    }
};

}  // namespace

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kAllow: return "allow";
        case Verdict::kDeny: return "deny";
        case Verdict::kNeedsApproval: return "needs_approval";
    }
    return "";
}

struct Policy::Compiled {
    Compiled(PolicyRule rule, std::size_t index)
        : principal(std::move(rule.principal)), tenant(std::move(rule.tenant)), roles(rule.roles), sources(std::move(rule.sources)),
          call_allow(std::move(rule.call_allow), index, "call.allow"), call_deny(std::move(rule.call_deny), index, "call.deny"),
          call_needs_approval(std::move(rule.call_needs_approval), index, "call.needs_approval"),
          register_allow(std::move(rule.register_allow), index, "register.allow"),
          register_deny(std::move(rule.register_deny), index, "register.deny") {}

    bool speaks_of(const Principal& who) const {
        if (!principal.empty() && !principal.matches(who.id)) return false;
        if (!tenant.empty() && !tenant.matches(who.tenant.text())) return false;
        if (roles.empty()) return true;
        for (const Role role : {Role::kOperator, Role::kCaller, Role::kDevice, Role::kToolHost, Role::kSubscriber, Role::kListener, Role::kCliAdmin}) {
            if (roles.has(role) && who.roles.has(role)) return true;
        }
        return false;
    }
    bool speaks_of(const Tool& tool) const {
        if (sources.empty()) return true;
        return std::ranges::any_of(sources, [&](const Glob& glob) { return glob.matches(tool.source_text); });
    }
    /// For a listing, without arguments, it may hold.
    bool may_hold(std::optional<simdjson::dom::element> args) const {
        return !args || std::ranges::all_of(where, [&](const Condition& condition) { return condition.holds(*args); });
    }

    Glob principal, tenant;
    Roles roles;
    std::vector<Glob> sources;
    NameList call_allow, call_deny, call_needs_approval, register_allow, register_deny;
    std::vector<Condition> where;
};

Policy::Policy(std::vector<PolicyRule> rules) {
    for (PolicyRule& rule : rules) rules_.push_back(std::make_unique<Compiled>(std::move(rule), rules_.size()));
}

Policy::~Policy() = default;

Result<std::shared_ptr<const Policy>> Policy::make(std::vector<PolicyRule> rules) {
    std::vector<std::vector<ArgumentCondition>> conditions;
    for (PolicyRule& rule : rules) conditions.push_back(std::move(rule.where));
    const std::shared_ptr<Policy> policy(new Policy(std::move(rules)));
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        for (ArgumentCondition& source : conditions[i]) {
            Condition made{.pointer = std::move(source.pointer), .equals = {}, .glob = {}, .matches = nullptr, .min = source.min, .max = source.max};
            if (source.equals) {
                auto value = json::Value::parse(*source.equals);
                if (!value) return fail(ErrorCode::kInvalidArgs, fmt::format("policy[{}].where {}: `equals` is not JSON", i, made.pointer));
                made.equals = std::move(*value);
            }
            if (source.glob) made.glob = Glob(std::move(*source.glob));
            if (source.matches) {
                made.matches = std::make_unique<RE2>(*source.matches, RE2::Quiet);
                if (!made.matches->ok()) {
                    return fail(ErrorCode::kInvalidArgs, fmt::format("policy[{}].where {}: `matches`: {}", i, made.pointer, made.matches->error()));
                }
            }
            policy->rules_[i]->where.push_back(std::move(made));
            policy->looks_at_arguments_ = true;
        }
    }
    return policy;
}

Decision Policy::decide_call(const Principal& principal, const Tool& tool, std::optional<simdjson::dom::element> args) const {
    if (!principal.may(Role::kCaller)) return {Verdict::kDeny, kNoCallerRole};
    if (rules_.empty()) return {Verdict::kAllow, kCallerRole};
    const std::string& qualified = tool.unique_name;
    bool has_allow_list = false;
    const std::string* allowed = nullptr;
    const std::string* approval = nullptr;
    for (const auto& rule : rules_) {
        if (!rule->speaks_of(principal)) continue;
        const bool conditional = !rule->where.empty();
        // An allow list confines its principal even where its sources or arguments do not match.
        has_allow_list = has_allow_list || !rule->call_allow.globs.empty();
        if (!rule->speaks_of(tool)) continue;
        if (!rule->may_hold(args)) continue;
        const bool certain = args.has_value() || !conditional;
        if (const std::string* denied = rule->call_deny.find(tool.spec.name, qualified); denied != nullptr && certain) {
            return {Verdict::kDeny, *denied};
        }
        if (allowed == nullptr) allowed = rule->call_allow.find(tool.spec.name, qualified);
        if (approval == nullptr) approval = rule->call_needs_approval.find(tool.spec.name, qualified);
    }
    if (has_allow_list && allowed == nullptr) return {Verdict::kDeny, kUnlisted};
    if (approval != nullptr) return {Verdict::kNeedsApproval, *approval};
    return {Verdict::kAllow, allowed != nullptr ? std::string_view(*allowed) : kCallerRole};
}

Decision Policy::decide_registration(const Principal& principal, std::string_view name) const {
    if (!principal.may(Role::kDevice) && !principal.may(Role::kToolHost)) return {Verdict::kDeny, kNoDeviceRole};
    bool has_allow_list = false;
    const std::string* allowed = nullptr;
    for (const auto& rule : rules_) {
        if (!rule->speaks_of(principal)) continue;
        if (const std::string* denied = rule->register_deny.find(name, {})) return {Verdict::kDeny, *denied};
        has_allow_list = has_allow_list || !rule->register_allow.globs.empty();
        if (allowed == nullptr) allowed = rule->register_allow.find(name, {});
    }
    if (has_allow_list && allowed == nullptr) return {Verdict::kDeny, kUnlisted};
    return {Verdict::kAllow, allowed != nullptr ? std::string_view(*allowed) : kDeviceRole};
}

}  // namespace crab::core
