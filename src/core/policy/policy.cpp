#include "core/policy/policy.hpp"

#include "core/call/action.hpp"
#include "core/policy/decision_builder.hpp"
#include "core/policy/policy_trace.hpp"
#include "json/value.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <re2/re2.h>

namespace crab::core {
namespace {

constexpr std::string_view kCallerRole = "role default: callers and operators may call";
constexpr std::string_view kNoCallerRole = "role default: only callers and operators may call";
constexpr std::string_view kOwnTools = "role default: a device may call its own tools";
constexpr std::string_view kDeviceRole = "role default: devices and tool hosts may register";
constexpr std::string_view kNoDeviceRole = "role default: only devices and tool hosts may register";
constexpr std::string_view kNoActionRole = "default deny: neither its role nor a rule allows it";
constexpr std::string_view kNoAction =
    "no such action: actions are events.publish:*, events.subscribe:* and control.*; pairing is "
    "none";
constexpr std::string_view kOtherTenant = "tenant: the principal acts for another one";
constexpr std::string_view kOnlyDefaultTenant =
    "tenant: without `tenants` in its entry under `peers` a peer acts for the default one alone";

/// Patterns together with the sentences that name the rule, made once.
struct NameList {
    std::vector<Glob> globs;
    std::vector<std::string> rules;
    /// The same where nobody can see whether the conditions hold
    std::vector<std::string> not_json_rules;
    std::string place;  ///< such as `policy[3].call.deny`
    std::string whole;                       ///< names the list to whom it does not list

    NameList(std::vector<Glob> patterns, std::string_view list, std::size_t index,
             std::string_view key)
        : globs(std::move(patterns)), place(fmt::format("{}[{}].{}", list, index, key)) {
        for (const Glob& glob : globs) {
            rules.push_back(fmt::format("{}: {}", place, glob.pattern()));
            not_json_rules.push_back(fmt::format(
                "{}, whose conditions cannot be checked: the arguments are no JSON", rules.back()));
        }
        whole = fmt::format("{}: an allow list speaks of this principal and does not list the name",
                            place);
    }
    /// The first rule of a pattern for which `fits(pattern)`.
    const std::string* find_if(auto fits, bool not_json = false) const {
        const auto found = std::ranges::find_if(globs, fits);
        return found == globs.end()
                   ? nullptr
                   : &(not_json ? not_json_rules
                                : rules)[static_cast<std::size_t>(found - globs.begin())];
    }
    const std::string* find(std::string_view name) const {
        return find_if([&](const Glob& glob) { return glob.matches(name); });
    }
};

/// Every role, in the order in which their defaults are looked at.
constexpr std::array kRoles{Role::kOperator, Role::kCliAdmin, Role::kToolHost, Role::kSubscriber,
                            Role::kListener, Role::kCaller,   Role::kDevice};

Decision action_by_roles(Roles roles, const Glob& action) {
    for (const Role role : kRoles) {
        if (!roles.has(role)) continue;
        for (const DefaultAction& each : default_actions(role)) {
            if (each.glob.covers(action)) return {Verdict::kAllow, each.rule};
        }
    }
    return {Verdict::kDeny, kNoActionRole};
}

/// What a call does that reads a resource of an MCP server or gets a prompt of one: these are
/// actions of their own, `mcp.resource.read:<source>/<URI>` and `mcp.prompt.get:<source>/<name>`.
/// Source: docs/protocols/mcp.md, section 7.5.
class McpAction {
public:
    McpAction(const Tool& tool, const CallArguments& args) {
        if (tool.source.kind != SourceKind::kMcpServer || !tool.unlisted) return;
        const bool reads = tool.spec.name == "resources.read",
                   gets = tool.spec.name == "prompts.get";
        if (!reads && !gets) return;
        prefix_ = reads ? "mcp.resource.read:" : "mcp.prompt.get:";
        std::string_view about;
        known_ = !args.are_any() && !args.are_not_json() &&
                 args.value()[reads ? "uri" : "name"].get(about) == simdjson::SUCCESS;
        text_ = fmt::format("{}{}/{}", prefix_, tool.source.name, known_ ? about : "*");
    }

    /// Whether `glob` is about it: `wholly`, about each of those that it may be. A pattern names
    /// actions if it begins with one; `*` speaks of tools.
    bool is_in(const Glob& glob, bool wholly) const {
        if (prefix_.empty() || !glob.pattern().starts_with(prefix_)) return false;
        if (known_) return glob.matches(text_);
        return wholly ? glob.covers(Glob(text_)) : glob.overlaps(Glob(text_));
    }

private:
    std::string_view prefix_;  // empty: it is no such call
    std::string text_;
    bool known_ = false;
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
            if (matches && !RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *matches))
                return false;
        }
        if (min || max) {
            double number = 0;
            if (value.get(number) != simdjson::SUCCESS) return false;
            if ((min && number < *min) || (max && number > *max)) return false;
        }
        return true;
    }
};

/// What keeps an entry of the policy from being about a call.
enum class Misfit : std::uint8_t {
    kNone,
    kPrincipal,
    kTenant,
    kRoles,
    kEffects,
    kSource,
    kArguments
};

/// A call that is decided about.
struct Question {
    const Principal& principal;
    const Tool& tool;
    const CallArguments& args;
    std::string_view tenant;  ///< empty: any of the principal's
    McpAction action{tool, args};

    bool is_named_by(const Glob& glob, bool wholly) const {
        return glob.matches(tool.spec.name) ||
               (!tool.unique_name.empty() && glob.matches(tool.unique_name)) ||
               action.is_in(glob, wholly);
    }
};

/// What one entry says of a call. Null: the list does not name it.
struct Said {
    Misfit misfit = Misfit::kNone;
    bool confines = false;  ///< to what allow lists name
    const std::string *denied = nullptr, *allowed = nullptr, *asked = nullptr;
};

std::string_view place_of(const Condition& condition) {
    return condition.pointer.empty() ? std::string_view("the arguments") : condition.pointer;
}

std::string patterns_of(const std::vector<Glob>& globs) {
    std::string text;
    for (const Glob& glob : globs) text += (text.empty() ? "" : ", ") + glob.pattern();
    return text;
}

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
        : principal(std::move(rule.principal)),
          tenant(std::move(rule.tenant)),
          roles(rule.roles),
          sources(std::move(rule.sources)),
          effects(rule.effects),
          call_allow(std::move(rule.call_allow), "policy", index, "call.allow"),
          call_deny(std::move(rule.call_deny), "policy", index, "call.deny"),
          call_needs_approval(std::move(rule.call_needs_approval), "policy", index,
                              "call.needs_approval"),
          register_allow(std::move(rule.register_allow), "policy", index, "register.allow"),
          register_deny(std::move(rule.register_deny), "policy", index, "register.deny"),
          act_for(std::move(rule.act_for)),
          line(rule.line) {}

    /// `asked`: the tenant that it is about; empty: any of the principal's.
    bool fits_tenant(const Principal& who, std::string_view asked) const {
        if (tenant.empty()) return true;
        if (!asked.empty()) return tenant.matches(asked);
        return tenant.matches(who.tenant.text()) ||
               std::ranges::any_of(who.more_tenants, [&](const TenantId& more) {
                   return tenant.matches(more.text());
               });
    }
    Misfit misfit_of(const Principal& who, std::string_view asked_tenant) const {
        if (!principal.empty() && !principal.matches(who.id)) return Misfit::kPrincipal;
        if (!fits_tenant(who, asked_tenant)) return Misfit::kTenant;
        const bool fits = roles.empty() || std::ranges::any_of(kRoles, [&](Role role) {
                              return roles.has(role) && who.roles.has(role);
                          });
        return fits ? Misfit::kNone : Misfit::kRoles;
    }
    bool speaks_of(const Principal& who, std::string_view asked_tenant = {}) const {
        return misfit_of(who, asked_tenant) == Misfit::kNone;
    }
    bool speaks_of_calls() const {
        return !call_allow.globs.empty() || !call_deny.globs.empty() ||
               !call_needs_approval.globs.empty();
    }
    Misfit misfit_of(const Tool& tool) const {
        if (effects && *effects != tool.spec.may_have_effects()) return Misfit::kEffects;
        const bool fits = sources.empty() || std::ranges::any_of(sources, [&](const Glob& glob) {
                              return glob.matches(tool.source_text);
                          });
        return fits ? Misfit::kNone : Misfit::kSource;
    }
    /// The first condition that does not hold: of arguments that are seen it is known.
    const Condition* broken_by(const CallArguments& args) const {
        if (args.are_any() || args.are_not_json()) return nullptr;
        const auto broken = std::ranges::find_if_not(
            where, [&](const Condition& condition) { return condition.holds(args.value()); });
        return broken == where.end() ? nullptr : &*broken;
    }
    Said about(const Question& call) const;
    /// Tells `trace` what the call lists say, which about() said.
    void tell(const Question& call, const Said& said, PolicyTrace& trace) const;

    Glob principal, tenant;
    Roles roles;
    std::vector<Glob> sources;
    std::optional<bool> effects;
    NameList call_allow, call_deny, call_needs_approval, register_allow, register_deny;
    std::vector<Condition> where;
    std::vector<Glob> act_for;
    int line;

private:
    std::string why_not(const Question& call, Misfit misfit) const;
    std::string why_not_denied(const Question& call, Misfit misfit) const;
    std::string why(const Question& call) const;
};

Said Policy::Compiled::about(const Question& call) const {
    Said said{.misfit = misfit_of(call.principal, call.tenant)};
    if (said.misfit != Misfit::kNone) return said;
    // An allow list confines its principal even where its sources or arguments do not match.
    said.confines = !call_allow.globs.empty();
    said.misfit = misfit_of(call.tool);
    if (said.misfit == Misfit::kNone && broken_by(call.args) != nullptr)
        said.misfit = Misfit::kArguments;
    if (said.misfit != Misfit::kNone) return said;
    const auto some = [&](const Glob& glob) { return call.is_named_by(glob, false); };
    const auto refused = [&](const Glob& glob) {
        return call.is_named_by(glob, call.args.are_any());
    };
    // What is not seen may be what the rule is about: then it refuses and asks, and gives nothing.
    // A listing shows what some call may do.
    const bool not_json = call.args.are_not_json() && !where.empty();
    if (!call.args.are_any() || where.empty()) said.denied = call_deny.find_if(refused, not_json);
    if (!not_json) said.allowed = call_allow.find_if(some);
    said.asked = call_needs_approval.find_if(some, not_json);
    return said;
}

void Policy::Compiled::tell(const Question& call, const Said& said, PolicyTrace& trace) const {
    using Effect = PolicyStep::Effect;
    const auto add = [&](const std::string& rule, Effect effect, bool matched,
                         std::string because) {
        trace.add({.rule = rule,
                   .line = line,
                   .effect = effect,
                   .matched = matched,
                   .because = std::move(because)});
    };
    if (said.denied != nullptr)
        add(*said.denied, Effect::kDeny, true, why(call));
    else if (!call_deny.globs.empty())
        add(call_deny.place, Effect::kDeny, false, why_not_denied(call, said.misfit));
    if (said.allowed != nullptr)
        add(*said.allowed, Effect::kAllow, true, why(call));
    else if (said.confines)
        add(call_allow.whole, Effect::kConfine, true, why_not(call, said.misfit));
    else if (!call_allow.globs.empty())
        add(call_allow.place, Effect::kAllow, false, why_not(call, said.misfit));
    if (said.asked != nullptr)
        add(*said.asked, Effect::kNeedsApproval, true, why(call));
    else if (!call_needs_approval.globs.empty())
        add(call_needs_approval.place, Effect::kNeedsApproval, false, why_not(call, said.misfit));
}

std::string Policy::Compiled::why(const Question& call) const {
    const std::string named = fmt::format("it names {}", call.tool.spec.name);
    if (where.empty()) return named;
    if (call.args.are_not_json()) return named + ", and nobody can see whether its conditions hold";
    return named +
           (call.args.are_any() ? ", and its conditions may hold" : ", and its conditions hold");
}

std::string Policy::Compiled::why_not(const Question& call, Misfit misfit) const {
    const Principal& who = call.principal;
    switch (misfit) {
        case Misfit::kNone: break;
        case Misfit::kPrincipal:
            return fmt::format("it is about {}, not {}", principal.pattern(), who.id);
        case Misfit::kTenant:
            return fmt::format("it is about the tenant {}, not {}", tenant.pattern(),
                               call.tenant.empty() ? std::string_view("none") : call.tenant);
        case Misfit::kRoles:
            return fmt::format("it is about the roles {}; {} has {}", roles.to_text(), who.id,
                               who.roles.to_text());
        case Misfit::kEffects:
            return *effects ? "it is about tools that may have effects"
                            : "it is about tools that only read";
        case Misfit::kSource:
            return fmt::format("it is about tools of {}, not of {}", patterns_of(sources),
                               call.tool.source_text);
        case Misfit::kArguments:
            return fmt::format("its condition on {} does not hold",
                               place_of(*broken_by(call.args)));
    }
    return fmt::format("it does not name {}", call.tool.spec.name);
}

std::string Policy::Compiled::why_not_denied(const Question& call, Misfit misfit) const {
    const bool depends = misfit == Misfit::kNone && call.args.are_any() && !where.empty() &&
                         call_deny.find_if([&](const Glob& glob) {
                             return call.is_named_by(glob, false);
                         }) != nullptr;
    return depends ? fmt::format("it depends on {}", place_of(where.front()))
                   : why_not(call, misfit);
}

struct Policy::Peer {
    Peer(PeerRule rule, std::size_t index)
        : role(rule.role),
          tenants(std::move(rule.tenants), "peers", index, "tenants"),
          allow(std::move(rule.allow), "peers", index, "allow"),
          deny(std::move(rule.deny), "peers", index, "deny"),
          other_tenant(fmt::format("peers[{}].tenants: none of them", index)) {}

    std::optional<Role> role;
    NameList tenants, allow, deny;
    std::string other_tenant;
};

Policy::Policy() = default;
Policy::~Policy() = default;

Result<std::shared_ptr<const Policy>> Policy::make(std::vector<PolicyRule> rules,
                                                   std::vector<PeerRule> peers) {
    const std::shared_ptr<Policy> policy(new Policy);
    for (std::size_t i = 0; i < peers.size(); ++i) {
        for (const auto* list : {&peers[i].allow, &peers[i].deny}) {
            const auto wrong = std::ranges::find_if_not(*list, names_actions);
            if (wrong != list->end()) {
                return fail(
                    ErrorCode::kInvalidArgs,
                    fmt::format(
                        "peers[{}].{}: {} names no action; actions are events.publish:<type>, "
                        "events.subscribe:<type> and"
                        " control.config|sessions|peers|subscriptions:<what>, and pairing is none",
                        i, list == &peers[i].allow ? "allow" : "deny", wrong->pattern()));
            }
        }
        std::string id = peers[i].id;
        if (!policy->peers_.try_emplace(id, std::make_unique<const Peer>(std::move(peers[i]), i))
                 .second) {
            return fail(
                ErrorCode::kInvalidArgs,
                fmt::format("peers[{}].id: another entry has the id {}; say it all in one", i, id));
        }
    }
    std::vector<std::vector<ArgumentCondition>> conditions;
    for (PolicyRule& rule : rules) {
        conditions.push_back(std::move(rule.where));
        policy->speaks_of_agents_ = policy->speaks_of_agents_ || !rule.act_for.empty();
        policy->rules_.push_back(
            std::make_unique<Compiled>(std::move(rule), policy->rules_.size()));
    }
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        for (ArgumentCondition& source : conditions[i]) {
            Condition made{.pointer = std::move(source.pointer),
                           .equals = {},
                           .glob = {},
                           .matches = nullptr,
                           .min = source.min,
                           .max = source.max};
            if (source.equals) {
                auto value = json::Value::parse(*source.equals);
                if (!value)
                    return fail(
                        ErrorCode::kInvalidArgs,
                        fmt::format("policy[{}].where {}: `equals` is not JSON", i, made.pointer));
                made.equals = std::move(*value);
            }
            if (source.glob) made.glob = Glob(std::move(*source.glob));
            if (source.matches) {
                made.matches = std::make_unique<RE2>(*source.matches, RE2::Quiet);
                if (!made.matches->ok()) {
                    return fail(ErrorCode::kInvalidArgs,
                                fmt::format("policy[{}].where {}: `matches`: {}", i, made.pointer,
                                            made.matches->error()));
                }
            }
            policy->rules_[i]->where.push_back(std::move(made));
        }
    }
    return policy;
}

/// What its roles let a principal call.
Policy::Reach Policy::reach_of(const Principal& principal) const {
    if (principal.may(Role::kCaller)) return Reach::kAllTools;
    const Peer* const peer = find_peer(principal);
    if (peer != nullptr && peer->role == Role::kCaller) return Reach::kAllTools;
    // What a device offers it could do without us: a phone's chat uses the phone's own tools.
    return principal.roles.has(Role::kDevice) ? Reach::kOwnTools : Reach::kNothing;
}

Decision Policy::decide_by_role(const Principal& principal, const Tool& tool) const {
    switch (reach_of(principal)) {
        case Reach::kNothing: break;
        case Reach::kAllTools: return {Verdict::kAllow, kCallerRole};
        case Reach::kOwnTools:
            if (tool.source.kind == SourceKind::kDevice && tool.source.owner == principal.id)
                return {Verdict::kAllow, kOwnTools};
            break;
    }
    return {Verdict::kDeny, kNoCallerRole};
}

/// It says all that decide_call() asks of a principal, for any tool.
std::string Policy::caller_key(const Principal& principal, std::string_view tenant) const {
    std::string key;
    for (const auto& rule : rules_)
        if (rule->speaks_of_calls()) key += rule->speaks_of(principal, tenant) ? '1' : '0';
    switch (reach_of(principal)) {
        case Reach::kNothing: return "none";
        case Reach::kOwnTools: return key + " of " + principal.id;
        case Reach::kAllTools: return key + " all";
    }
    return key;
}

Decision Policy::decide_call(const Principal& principal, const Tool& tool, CallArguments args,
                             std::string_view tenant, PolicyTrace* trace) const {
    const Decision role = decide_by_role(principal, tool);
    if (trace != nullptr) trace->add_role(role, principal);
    if (role.verdict == Verdict::kDeny || rules_.empty()) return role;
    const Question call{principal, tool, args, tenant};
    DecisionBuilder decision_builder(role, DecisionBuilder::Rules::kNarrow);
    for (const auto& rule : rules_) {
        const Said said = rule->about(call);
        if (said.confines) decision_builder.confine(rule->call_allow.whole);
        if (said.denied != nullptr) decision_builder.deny(*said.denied);
        if (said.allowed != nullptr) decision_builder.allow(*said.allowed);
        if (said.asked != nullptr) decision_builder.ask_for_approval(*said.asked);
        if (trace != nullptr)
            rule->tell(call, said, *trace);
        else if (decision_builder.is_denied())
            break;
    }
    const Decision decision = decision_builder.decision();
    if (trace != nullptr) trace->conclude(decision);
    return decision;
}

Decision Policy::decide_registration(const Principal& principal, std::string_view name) const {
    const bool may = principal.may(Role::kDevice) || principal.may(Role::kToolHost);
    DecisionBuilder decision_builder(
        may ? Decision{Verdict::kAllow, kDeviceRole} : Decision{Verdict::kDeny, kNoDeviceRole},
        DecisionBuilder::Rules::kNarrow);
    for (const auto& rule : rules_) {
        if (!rule->speaks_of(principal)) continue;
        if (!rule->register_allow.globs.empty())
            decision_builder.confine(rule->register_allow.whole);
        if (const std::string* denied = rule->register_deny.find(name))
            decision_builder.deny(*denied);
        if (const std::string* allowed = rule->register_allow.find(name))
            decision_builder.allow(*allowed);
    }
    return decision_builder.decision();
}

bool Policy::may_act_for(const Principal& principal, std::string_view agent) const {
    if (principal.roles.has(Role::kOperator)) return true;
    if (!speaks_of_agents_ || agent.contains('/')) return false;
    return std::ranges::any_of(rules_, [&](const auto& rule) {
        return rule->speaks_of(principal) &&
               std::ranges::any_of(rule->act_for,
                                   [&](const Glob& glob) { return glob.matches(agent); });
    });
}

bool Policy::may_act_in(const Principal& principal, std::string_view tenant) const {
    if (principal.proof != Proof::kCertificate) return principal.may_act_in(tenant);
    const Peer* const peer = find_peer(principal);
    const bool named = peer != nullptr && !peer->tenants.globs.empty();
    return named ? peer->tenants.find(tenant) != nullptr : tenant == kDefaultTenant;
}

std::string_view Policy::home_tenant(const Principal& principal) const {
    if (principal.proof != Proof::kCertificate) return principal.tenant.text();
    if (may_act_in(principal, kDefaultTenant)) return kDefaultTenant;
    const auto& named = find_peer(principal)->tenants.globs;
    const auto literal = std::ranges::find_if(named, &Glob::is_literal);
    return literal == named.end() ? std::string_view() : std::string_view(literal->pattern());
}

const Policy::Peer* Policy::find_peer(const Principal& principal) const {
    if (principal.proof != Proof::kCertificate) return nullptr;
    const auto found = peers_.find(principal.id);
    return found == peers_.end() ? nullptr : found->second.get();
}

Decision Policy::decide_action(const Principal& principal, std::string_view action,
                               std::string_view tenant) const {
    if (!is_action(action)) return {Verdict::kDeny, kNoAction};
    const Peer* const peer = find_peer(principal);
    if (!tenant.empty() && !may_act_in(principal, tenant)) {
        if (principal.proof != Proof::kCertificate) return {Verdict::kDeny, kOtherTenant};
        const bool named = peer != nullptr && !peer->tenants.globs.empty();
        return {Verdict::kDeny, named ? std::string_view(peer->other_tenant) : kOnlyDefaultTenant};
    }
    const Glob asked{std::string(action)};
    DecisionBuilder decision_builder(
        action_by_roles(peer != nullptr && peer->role ? Roles{*peer->role} : principal.roles,
                        asked),
        DecisionBuilder::Rules::kWiden);
    if (peer != nullptr) {
        if (const std::string* denied =
                peer->deny.find_if([&](const Glob& glob) { return glob.overlaps(asked); }))
            decision_builder.deny(*denied);
        if (const std::string* allowed =
                peer->allow.find_if([&](const Glob& glob) { return glob.covers(asked); }))
            decision_builder.allow(*allowed);
    }
    return decision_builder.decision();
}

}  // namespace crab::core
