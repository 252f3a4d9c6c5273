#pragma once

#include "core/call/call.hpp"
#include "core/call/effective_policy.hpp"
#include "core/call/tool.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::core {

class LateCall;
class Pipeline;

// The stages of a call as types: each can only be made from the one before, by the pipeline;
// dispatch takes an AdmittedCall. A stage left out does not compile. All of them are views on one
// Call, valid while the pipeline works on it.

/// A call whose caller is known.
class AuthenticatedCall {
public:
    AuthenticatedCall(Call& call, const PrincipalRef& principal)
        : call_(&call), principal_(&principal) {}
    Call& call() const { return *call_; }
    const PrincipalRef& principal() const { return *principal_; }

private:
    Call* call_;
    const PrincipalRef* principal_;
};

/// A call that its principal may make to this tool.
class AuthorizedCall {
public:
    Call& call() const { return authenticated_.call(); }
    const PrincipalRef& principal() const { return authenticated_.principal(); }
    const Tool& tool() const { return *tool_; }

private:
    friend class Pipeline;
    AuthorizedCall(AuthenticatedCall authenticated, const Tool& tool)
        : authenticated_(authenticated), tool_(&tool) {}
    AuthenticatedCall authenticated_;
    const Tool* tool_;
};

/// A call whose arguments fit the tool's schema.
class ValidatedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class Pipeline;
    explicit ValidatedCall(AuthorizedCall authorized) : authorized_(authorized) {}
    AuthorizedCall authorized_;
};

/// A call that nobody has to approve, or that somebody has approved.
class ApprovedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class Pipeline;
    explicit ApprovedCall(AuthorizedCall authorized) : authorized_(authorized) {}
    AuthorizedCall authorized_;
};

/// A call that the ledger has let in, with the deadline that binds everything from here on.
class AdmittedCall {
public:
    const Call& call() const { return authorized_.call(); }
    const PrincipalRef& principal() const { return authorized_.principal(); }
    const Tool& tool() const { return authorized_.tool(); }
    /// A JSON object, never empty.
    std::string_view args() const { return call().args; }
    Deadline deadline() const { return deadline_; }
    int attempt() const { return attempt_; }
    /// When the first attempt was sent; budgets run from here.
    SteadyTime first_dispatch() const { return first_dispatch_; }
    /// What binds the run beside the deadline; null when the tool has no PolicyLimits.
    const EffectivePolicy* policy() const { return policy_; }
    /// ToolHost::place_of() as it was approved; nothing when the call needed no approval.
    const std::optional<std::string>& approved_place() const { return *approved_place_; }
    /// For hosts: what this attempt used, which the next one has less of.
    void spend_cpu(Milliseconds used) const { authorized_.call().cpu_spent += used; }
    /// For a host that answers now although the tool goes on: asked right before run() returns. The
    /// host finishes it later.
    std::shared_ptr<LateCall> leave_running() const;

private:
    friend class Pipeline;
    AdmittedCall(ApprovedCall approved, Deadline deadline, const std::optional<std::string>& place)
        : authorized_(approved.authorized()), deadline_(deadline), approved_place_(&place) {}
    AuthorizedCall authorized_;
    Deadline deadline_;
    const std::optional<std::string>* approved_place_;  ///< of the pipeline, as is `late_`
    int attempt_ = 1;
    SteadyTime first_dispatch_{};
    const EffectivePolicy* policy_ = nullptr;
    std::shared_ptr<LateCall>* late_ = nullptr;  ///< where the pipeline looks for it
};

}  // namespace crab::core
