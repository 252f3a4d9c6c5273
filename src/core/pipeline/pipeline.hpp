#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "base/published.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/approvals/approval.hpp"
#include "core/audit/audit_log.hpp"
#include "core/audit/call_record.hpp"
#include "core/audit/metrics.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/early_cancels.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/hook.hpp"
#include "core/call/running_calls.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/ledger_journal.hpp"
#include "core/pipeline/call_events.hpp"
#include "core/pipeline/first_caller.hpp"
#include "core/policy/policy.hpp"
#include "core/policy/rate_limits.hpp"
#include "core/registry/registry.hpp"
#include "json/parser.hpp"

#include <memory>
#include <vector>

namespace crab::core {

class Approvals;

/// What the operator's configuration says about calls; replaced as a whole when it is reloaded.
struct CallRules {
    std::shared_ptr<const Policy> policy;                ///< never null
    std::vector<std::shared_ptr<Hook>> hooks;            ///< in their order
    std::shared_ptr<RateLimits> rates;                   ///< never null
    std::uint32_t max_retries = 2;
    std::size_t max_result_bytes = std::size_t{8} << 20;
    /// Agents and tenants are as they say: they have decided about their callers
    bool callers_are_gateways = false;
    /// Results of tools with side effects get an `operation_id` (docs/protocols/rtp.md, section 3)
    bool operation_ids = false;
};

/// What all event loops share. Each member is thread-safe by itself.
struct CallServices {
    const Clock& clock;
    Registry& registry;
    Published<CallRules>& rules;
    Ledger& ledger;
    EarlyCancels& early_cancels;
    AuditLog& audit;
    /// Null: the ledger lives in memory only, and side effects wait for their audit record
    LedgerJournal* journal = nullptr;
    CallEvents* events = nullptr;  ///< null: nobody hears of calls
    /// Null: there is nobody to ask, and calls that need an approval are refused
    Approvals* approvals = nullptr;
};

/// How a call ended.
struct CallEnd {
    std::shared_ptr<const Outcome> outcome;  ///< never null
    std::chrono::nanoseconds duration{0};  ///< from arrival; of the first call when replayed
    bool replayed = false;
    ToolRef tool;  ///< null when the name led nowhere
    /// What bound the run; null when the tool has no PolicyLimits
    std::shared_ptr<const EffectivePolicy> policy;
    std::uint32_t attempts = 0;  ///< that were dispatched
    std::string approval_id;  ///< of the question that it needed, if it was put
    std::string cancelled_by;  ///< the principal who cancelled it by its id; empty: nobody did
};

/// The one path that every call takes: resolve, authorize, hooks, validate, admit, approve, limit,
/// dispatch, check, audit, event. One per event loop, used on that loop only. The order is carried
/// by the stage types of core/call/admitted_call.hpp.
class Pipeline {
public:
    Pipeline(CallServices services, const Executor& home, TimerWheel& timers, IdSource& ids);

    /// Runs one call to its end; `call` and what it views must live until then. Sets `call.id` if
    /// it was empty. Cancelling the coroutine (the caller went away, somebody cancelled the id)
    /// cancels the call; the cancellation is used up here, so that the front can go on. Never
    /// throws for reasons that lie in the call. `repeats` is what a repeat of it gets while it
    /// runs: its outcome, or kAlreadyInProgress.
    Task<CallEnd> run(AuthenticatedCall call, FrameSink& sink,
                      WhileRunning repeats = WhileRunning::kJoin);

    /// The caller of `call`, which run() works on here, has left. Whether the call goes on all the
    /// same, because repeats wait for what it has begun; it is cancelled when the last of them has
    /// left too. A call that was not sent is no loss: they begin it anew.
    static bool goes_on_for_others(const Call& call) {
        return call.first != nullptr && call.first->leave();
    }

    /// The tools that `principal` may call, as it would name them.
    std::vector<RegistrySnapshot::Listed> list(const Principal& principal,
                                               std::string_view tenant = {},
                                               std::string_view after = {},
                                               std::size_t limit = SIZE_MAX);
    /// The same as a turn sees them: plain names mean the tools of the view's device and
    /// connection, if it has them. The policy of `view` is set here.
    std::vector<RegistrySnapshot::Listed> list_for(View view);
    Result<ToolRef> resolve(const Principal& principal, std::string_view tenant,
                            std::string_view name);

    /// Whether calls of `principal` may name this tenant.
    bool may_act_in(const Principal& principal, std::string_view tenant) {
        const CallRules& now = *rules_.get();
        return now.callers_are_gateways || now.policy->may_act_in(principal, tenant);
    }

    const std::shared_ptr<const CallRules>& rules() { return rules_.get(); }
    RunningCalls& running() { return running_; }
    const CallMetrics& metrics() const { return metrics_; }

private:
    friend class LateCall;
    using OutcomeRef = std::shared_ptr<const Outcome>;
    struct Working;

    Task<OutcomeRef> process(AuthenticatedCall call, FrameSink& sink, Working& working);
    Task<Result<AuthorizedCall>> ask_hooks(AuthorizedCall call, Working& working);
    Task<Result<ApprovedCall>> ask_approval(ValidatedCall call, Deadline deadline,
                                            Working& working);
    Result<void> count_call(const Principal& principal, Working& working);
    Task<OutcomeRef> repeat_of(AuthenticatedCall call, Ledger::Answer first, Deadline deadline,
                               Working& working);
    Task<OutcomeRef> recall(AuthenticatedCall call, ToolRef there, Error why, Working& working);
    Task<OutcomeRef> record_admission(AdmittedCall call, LedgerKey key, ContentDigest content,
                                      Ledger::Ticket& ticket, Working& working);
    Task<OutcomeRef> tell_of_dispatch(AdmittedCall call, FrameSink& sink, Working& working);
    Task<OutcomeRef> dispatch(AdmittedCall call, FrameSink& sink, Working& working);
    Task<bool> move_permit(const Tool& next, Deadline deadline, Working& working);
    Task<void> tell_hooks(const Call& call, const Principal& principal, Working& working,
                          const Outcome& outcome);

    View view_of(const Principal& principal, std::string_view tenant);
    Result<AuthorizedCall> resolve_and_authorize(AuthenticatedCall call, Working& working);
    Result<AuthorizedCall> authorize(AuthenticatedCall call, const ToolRef& tool, Working& working);
    Result<ValidatedCall> validate(AuthorizedCall call, Working& working);
    Result<ApprovalQuestion> question_of(const AuthorizedCall& call, Working& working);
    Result<ApprovedCall> check_again(ValidatedCall call, const ApprovalSubject& approved,
                                     Working& working);
    void leave(LateCall& late, Working& working, Ledger::Ticket ticket, SteadyTime started);
    Task<void> finish_late(LateCall& late, Outcome outcome);
    Outcome check_result(const Tool& tool, Outcome outcome, const CallRules& rules);
    void add_operation_id(const Tool& tool, ToolResult& result);
    static bool out_of_time(const Working& working);
    static Error given_up(const Working& working);
    bool may_repeat(const Tool& tool, const Call& call, const Error& error) const;
    void finish(Call& call, const Principal& principal, Working& working, const Outcome& outcome);

    CallServices services_;
    Executor home_;
    TimerWheel& timers_;
    IdSource& ids_;
    Published<RegistrySnapshot>::Reader registry_;
    Published<CallRules>::Reader rules_;
    json::Parser parser_;
    json::Parser result_parser_;
    RunningCalls running_;
    CallMetrics metrics_;
};

}  // namespace crab::core
