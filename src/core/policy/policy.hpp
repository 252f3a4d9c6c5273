#pragma once

#include "base/glob.hpp"
#include "base/result.hpp"
#include "core/call/principal.hpp"
#include "core/call/tool.hpp"
#include "json/element.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::core {

class PolicyTrace;

enum class Verdict : std::uint8_t { kAllow, kDeny, kNeedsApproval };
std::string_view name_of(Verdict verdict);

/// A decision and the rule that made it. `rule` views text of the Policy.
struct Decision {
    Verdict verdict = Verdict::kDeny;
    std::string_view rule;
};

/// Matches arguments by the value at `pointer`; every test that is set must hold.
struct ArgumentCondition {
    std::string pointer;                       ///< RFC 6901
    std::optional<std::string> equals;         ///< a JSON value as text
    std::optional<std::string> glob;           ///< for strings
    std::optional<std::string> matches;        ///< RE2, for strings, anywhere in the text
    std::optional<double> min, max;            ///< for numbers
};

/// The arguments to decide on: those of a call; bytes that are not JSON, which rules cannot
/// inspect; or any, for listings.
class CallArguments {
public:
    CallArguments(json::Element value) : value_(value), form_(Form::kJson) {}
    CallArguments(std::nullopt_t) : form_(Form::kAny) {}
    /// Nothing: any.
    CallArguments(const std::optional<json::Element>& args)
        : value_(args.value_or(json::Element())), form_(args ? Form::kJson : Form::kAny) {}
    static CallArguments not_json() {
        CallArguments made(std::nullopt);
        made.form_ = Form::kNotJson;
        return made;
    }
    bool are_any() const { return form_ == Form::kAny; }
    bool are_not_json() const { return form_ == Form::kNotJson; }
    /// Of a call whose arguments are JSON.
    json::Element value() const { return value_; }

private:
    enum class Form : std::uint8_t { kAny, kJson, kNotJson };
    json::Element value_;
    Form form_;
};

/// One entry of the operator's policy. Unset patterns stand for "any". A tool matches by its plain
/// or its qualified name.
struct PolicyRule {
    Glob principal, tenant;
    Roles roles;                               ///< empty: any
    std::vector<Glob> sources;                 ///< `device/kitchen-*`, `built_in/*`, …
    std::vector<Glob> call_allow, call_deny, call_needs_approval;
    std::vector<Glob> register_allow, register_deny;
    /// Restricts the call lists to tools that may have side effects (ToolSpec::effects()), or
    /// certainly have none
    std::optional<bool> effects;
    /// Restricts the call lists to calls with such arguments
    std::vector<ArgumentCondition> where;
    std::vector<Glob> act_for{};  ///< agents that the principal may act for
    int line = 0;  ///< in the configuration file, from 1; 0: not known
};

/// The operator's settings for one paired peer: its role, its tenants, and rights in addition to
/// its role's defaults.
struct PeerRule {
    std::string id;  ///< principal id, `<component_type>/<component_id>`; no other rule has it
    std::optional<Role> role;  ///< replaces the role of its component type
    std::vector<Glob> tenants;  ///< empty: the default tenant
    std::vector<Glob> allow, deny;  ///< of actions
};

/// The access policy; calls, registrations and actions are decided alike
/// (core/policy/decision_builder.hpp). Role defaults first: `caller` and `operator` may call,
/// `device` and `tool_host` may register, actions have the tables of core/call/action.hpp. Then the
/// rules: deny wins; for calls and registrations, if an allow list names a principal, what no list
/// allows is denied; for actions a rule may widen the role. The order of rules does not matter.
/// Immutable; thread-safe.
class Policy {
public:
    /// Errors: kInvalidArgs naming the rule whose pattern or value does not compile.
    static Result<std::shared_ptr<const Policy>> make(std::vector<PolicyRule> rules,
                                                      std::vector<PeerRule> peers = {});
    ~Policy();

    /// May `principal` call `tool` with these arguments, for `tenant`? Without a tenant: for any of
    /// its own. A rule whose conditions cannot be evaluated denies and requires approval as if they
    /// held, and allows nothing. `trace`, if not null, hears what each rule says of the call
    /// (core/policy/policy_trace.hpp).
    Decision decide_call(const Principal& principal, const Tool& tool, CallArguments args,
                         std::string_view tenant = {}, PolicyTrace* trace = nullptr) const;
    bool may_call(const Principal& principal, const Tool& tool,
                  std::string_view tenant = {}) const {
        return decide_call(principal, tool, std::nullopt, tenant).verdict != Verdict::kDeny;
    }
    /// What decides which tools may_call() lets a principal call: those with one key, the same
    /// ones.
    std::string caller_key(const Principal& principal, std::string_view tenant = {}) const;
    /// May `principal` act for this agent, with its worktree and memory? Operators may, others need
    /// a rule. A name with a slash is not an agent's but a principal's
    /// (core/policy/agent_claim.hpp).
    bool may_act_for(const Principal& principal, std::string_view agent) const;
    /// May calls of `principal` name this tenant? For tokens, peers and operators alike.
    bool may_act_in(const Principal& principal, std::string_view tenant) const;
    /// The default tenant of its calls; empty: no particular tenant.
    std::string_view home_tenant(const Principal& principal) const;
    /// May `principal` register a tool of this name?
    Decision decide_registration(const Principal& principal, std::string_view name) const;
    /// May `principal` do `action` (core/call/action.hpp) for `tenant`? Empty: no particular
    /// tenant. A pattern must be allowed as a whole. A principal authenticated by a certificate is
    /// a peer, with the tenants and rights of its PeerRule.
    Decision decide_action(const Principal& principal, std::string_view action,
                           std::string_view tenant) const;

private:
    struct Compiled;
    struct Peer;
    Policy();
    const Peer* find_peer(const Principal& principal) const;
    enum class Reach : std::uint8_t { kNothing, kOwnTools, kAllTools };
    Reach reach_of(const Principal& principal) const;
    Decision decide_by_role(const Principal& principal, const Tool& tool) const;
    std::vector<std::unique_ptr<Compiled>> rules_;
    std::unordered_map<std::string, std::unique_ptr<const Peer>> peers_;
    bool speaks_of_agents_ = false;
};

}  // namespace crab::core
