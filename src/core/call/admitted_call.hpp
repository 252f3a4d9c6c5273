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

// The stages of the pipeline (core/pipeline). What each has made sure of is a type, which only that
// stage can make, out of the type that the stage before it has made: a stage left out, or passed in
// another order, does not compile. All of them are views on one Call, valid while the pipeline
// works on it.
class AuthorizeStage;
class HookStage;
class ValidateStage;
class AdmitStage;
class ApproveStage;
class LimitStage;
class RecordStage;
class DispatchStage;

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
    friend class AuthorizeStage;
    AuthorizedCall(AuthenticatedCall authenticated, const Tool& tool)
        : authenticated_(authenticated), tool_(&tool) {}
    AuthenticatedCall authenticated_;
    const Tool* tool_;
};

/// A call that every hook has let pass; its arguments are what the tool will get.
class HookedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class HookStage;
    explicit HookedCall(AuthorizedCall authorized) : authorized_(authorized) {}
    AuthorizedCall authorized_;
};

/// A call whose arguments fit the tool's schema.
class ValidatedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class ValidateStage;
    explicit ValidatedCall(HookedCall hooked) : authorized_(hooked.authorized()) {}
    AuthorizedCall authorized_;
};

/// A call that repeats no other: of its id or key, nobody else runs while it does.
class UniqueCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class AdmitStage;
    explicit UniqueCall(ValidatedCall validated) : authorized_(validated.authorized()) {}
    AuthorizedCall authorized_;
};

/// A call that nobody has to approve, or that somebody has approved.
class ApprovedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class ApproveStage;
    explicit ApprovedCall(UniqueCall unique) : authorized_(unique.authorized()) {}
    /// Judged again, for what it may do had to be looked at again
    explicit ApprovedCall(AuthorizedCall again) : authorized_(again) {}
    AuthorizedCall authorized_;
};

/// A call within all limits, with the deadline that binds everything from here on.
class AdmittedCall {
public:
    const Call& call() const { return authorized_.call(); }
    const PrincipalRef& principal() const { return authorized_.principal(); }
    const Tool& tool() const { return *tool_; }
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
    friend class LimitStage;
    friend class DispatchStage;
    /// `place` and `late` are the pipeline's: ToolHost::place_of(), and where it looks for what
    /// leave_running() makes.
    AdmittedCall(ApprovedCall approved, Deadline deadline, const std::optional<std::string>& place,
                 std::shared_ptr<LateCall>& late)
        : authorized_(approved.authorized()),
          tool_(&authorized_.tool()),
          deadline_(deadline),
          approved_place_(&place),
          late_(&late) {}
    AuthorizedCall authorized_;
    const Tool* tool_;  ///< of this attempt: a later registration may stand in
    Deadline deadline_;
    const std::optional<std::string>* approved_place_;
    std::shared_ptr<LateCall>* late_;
    int attempt_ = 1;
    SteadyTime first_dispatch_{};
    const EffectivePolicy* policy_ = nullptr;
};

/// A call that is known on disk as far as it has to be. Only such a call goes to a tool's host.
class RecordedCall {
public:
    const AdmittedCall& admitted() const { return admitted_; }

private:
    friend class RecordStage;
    explicit RecordedCall(AdmittedCall admitted) : admitted_(admitted) {}
    AdmittedCall admitted_;
};

}  // namespace crab::core
