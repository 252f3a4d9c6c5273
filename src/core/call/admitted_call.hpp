#pragma once

#include "core/call/call.hpp"
#include "core/call/effective_policy.hpp"
#include "core/call/effects_lease.hpp"
#include "core/call/host_request.hpp"
#include "core/call/tool.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::core {

class LateCall;

// The output types of the pipeline's stages (core/pipeline). Only a stage can construct its type,
// from the type of the previous stage, so skipping or reordering stages does not compile. All are
// views of one Call, valid while the pipeline runs it.
class AuthorizeStage;
class HookStage;
class ValidateStage;
class AdmitStage;
class ApproveStage;
class LimitStage;
class RecordStage;
class DispatchStage;

/// A call with an authenticated caller.
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

/// A call that the policy allows.
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

/// A call that all hooks have passed; its arguments are final.
class HookedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class HookStage;
    explicit HookedCall(AuthorizedCall authorized) : authorized_(authorized) {}
    AuthorizedCall authorized_;
};

/// A call whose arguments match the tool's schema.
class ValidatedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class ValidateStage;
    explicit ValidatedCall(HookedCall hooked) : authorized_(hooked.authorized()) {}
    AuthorizedCall authorized_;
};

/// A call that repeats no other: no other call with its id or key runs at the same time.
class UniqueCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class AdmitStage;
    explicit UniqueCall(ValidatedCall validated) : authorized_(validated.authorized()) {}
    AuthorizedCall authorized_;
};

/// A call that is approved or needs no approval.
class ApprovedCall {
public:
    const AuthorizedCall& authorized() const { return authorized_; }

private:
    friend class ApproveStage;
    explicit ApprovedCall(UniqueCall unique) : authorized_(unique.authorized()) {}
    /// Authorized again after the wait
    explicit ApprovedCall(AuthorizedCall again) : authorized_(again) {}
    AuthorizedCall authorized_;
};

/// A call within all limits, with its final deadline.
class AdmittedCall {
public:
    const Call& call() const { return authorized_.call(); }
    const PrincipalRef& principal() const { return authorized_.principal(); }
    const Tool& tool() const { return *tool_; }
    /// A JSON object, never empty.
    std::string_view args() const { return call().args; }
    Deadline deadline() const { return deadline_; }
    int attempt() const { return attempt_; }
    /// When the first attempt was sent; budgets start here.
    SteadyTime first_dispatch() const { return first_dispatch_; }
    /// The execution policy; null when the tool has no PolicyLimits.
    const EffectivePolicy* policy() const { return policy_; }
    /// ToolHost::place_of() as it was approved; nothing when the call needed no approval.
    const std::optional<std::string>& approved_place() const { return *approved_place_; }
    /// For hosts that wait before they send it: asked right before each write. Where it does not
    /// hold, the call is answered with lease_lapsed() if nothing of it was sent.
    const RightToSend& right_to_send() const { return right_to_send_; }
    /// For hosts with a process(): null, or under which id the request goes to it.
    HostRequest* host_request() const { return host_request_; }
    /// For hosts: reports CPU time used by this attempt, which reduces the budget of the next.
    void spend_cpu(Milliseconds used) const { authorized_.call().cpu_spent += used; }
    /// For hosts that pass calls on: where this attempt went.
    void note_upstream(CallUpstream upstream) const {
        authorized_.call().upstream = std::move(upstream);
    }
    /// For a host that answers although its tool keeps running; called right before run() returns.
    /// The host finishes the LateCall later.
    std::shared_ptr<LateCall> leave_running() const;

private:
    friend class LimitStage;
    friend class DispatchStage;
    /// `place` is the approved ToolHost::place_of(), `late` receives the object of leave_running().
    AdmittedCall(ApprovedCall approved, Deadline deadline, const std::optional<std::string>& place,
                 std::shared_ptr<LateCall>& late)
        : authorized_(approved.authorized()),
          tool_(&authorized_.tool()),
          deadline_(deadline),
          approved_place_(&place),
          late_(&late) {}
    AuthorizedCall authorized_;
    const Tool* tool_;  ///< of this attempt: possibly a later registration
    Deadline deadline_;
    const std::optional<std::string>* approved_place_;
    std::shared_ptr<LateCall>* late_;
    int attempt_ = 1;
    SteadyTime first_dispatch_{};
    const EffectivePolicy* policy_ = nullptr;
    RightToSend right_to_send_;
    HostRequest* host_request_ = nullptr;
};

/// Of a call that was not sent because its right to be sent had lapsed.
inline Error lease_lapsed() {
    return {.code = ErrorCode::kUnavailable,
            .message =
                "this gateway's lease in its fleet ran out before the call was sent, so it "
                "was not run; call again",
            .details = {},
            .retryable = true,
            .retry_after = Milliseconds(1'000)};
}

/// A call with the durable records that it needs. Only such a call is dispatched.
class RecordedCall {
public:
    const AdmittedCall& admitted() const { return admitted_; }

private:
    friend class RecordStage;
    explicit RecordedCall(AdmittedCall admitted) : admitted_(admitted) {}
    AdmittedCall admitted_;
};

}  // namespace crab::core
