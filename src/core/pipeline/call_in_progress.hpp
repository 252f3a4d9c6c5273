#pragma once

#include "core/audit/call_record.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/tool_gate.hpp"
#include "core/pipeline/call_services.hpp"
#include "core/pipeline/first_caller.hpp"
#include "core/pipeline/parsed_arguments.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace crab::core {

class LateCall;

/// By what repeats of `call` by that principal are known; views of both.
LedgerKey ledger_key(const Call& call, const Principal& principal);

/// State of one call from its arrival to its end, shared by the stages. Lives in Pipeline::run.
struct CallInProgress {
    /// Starts the timeline, sets missing id and tenant, and lists the call as running. `tasks` is
    /// the chain of the coroutine that runs it.
    CallInProgress(AuthenticatedCall authenticated, LoopServices& loop, WhileRunning repeats,
                   TaskChain& tasks);

    Call& call() const { return authenticated.call(); }
    /// Records that the call reached this stage at `now`.
    void reach(Stage stage);
    void reach_now(Stage stage);
    void look_at_the_clock() { now = loop.now(); }
    /// The caller's view under this policy.
    View view(const Policy& policy) const;
    /// Computes the execution policy from the tool's limits and the caller's request. Errors:
    /// kForbidden, kInvalidArgs.
    Result<void> bind_policy();
    /// Extends the deadline by `waited` if approvals do not count against it.
    void set_deadline(std::chrono::nanoseconds waited);
    /// For what is left to do once the outcome is known: the deadline, but at least a moment.
    Deadline afterwards_until() const;
    bool needs_approval() const;
    /// Whether another gateway has begun it: whatever fails here, it may have run.
    bool is_adopted() const { return host_request && host_request->adopted; }
    /// Whether its gateway was fenced off since it was recorded, so that another may adopt it.
    bool is_fenced_off() const;
    /// Of a call that was recorded in a fleet under its lease; any other one's never lapses.
    RightToSend right_to_send() const;
    /// Releases the durable entry, if any: the call certainly had no effect.
    void forget_record() const;
    /// Whether it was cancelled because its caller's own deadline passed.
    bool out_of_time() const { return first && first->out_of_time(); }
    /// The error of a cancelled call.
    Error given_up() const;

    LoopServices& loop;
    TaskChain& chain;
    const AuthenticatedCall authenticated;
    const PrincipalRef principal;
    const std::shared_ptr<const CallRules> rules;  ///< fixed for the whole call …
    /// … except for the policy after an approval, which `facts.decision` views
    std::shared_ptr<const CallRules> newer;
    CallFacts facts;
    RunningCalls::Entry entry;
    ParsedArguments args;
    SteadyTime now{};
    bool hooked = false;  ///< a hook applies to the call
    bool counted = false;  ///< by the rate limits

    /// As authorized; after a retry `facts.tool` may be a later registration
    ToolRef tool;
    std::shared_ptr<const EffectivePolicy> policy;  ///< of tools with limits
    Milliseconds allowed{0};
    Deadline limit{};  ///< of the tool
    Deadline deadline{};  ///< of all waits: the earlier of the limit and the caller's deadline

    // In the ledger
    const WhileRunning repeats;
    const LedgerKey key;
    /// False for a generated id, which nobody can repeat: the call needs no ledger entry
    const bool repeatable;
    bool durable = false;  ///< needs a journal entry
    ContentDigest digest{};  ///< of calls with side effects or a key
    std::uint64_t content = 0;  ///< what a repeat must match
    Ledger::Ticket ticket;
    LedgerRef journal_ref;  ///< of the durable entry; false: there is none
    std::uint32_t incarnation = 0;  ///< of the fleet's lease, before that was written
    std::uint64_t process = 0;  ///< of the tool's host, as it is in the durable entry
    std::optional<HostRequest> host_request;  ///< if there is one
    /// Reported in the first answer and in every replay
    std::optional<std::chrono::nanoseconds> first_duration;

    std::optional<std::string> place;  ///< the approved place
    ToolGate::Permit permit;  ///< of the gate of `facts.tool`
    UuidText request_id;  ///< of the request event
    std::unique_ptr<NewEvent> request;  ///< that event until it is sent; null: not wanted
    std::optional<FirstCaller> first;  ///< while the call is dispatched and can be joined
    std::shared_ptr<LateCall> late;  ///< the host answered while its tool keeps running

private:
    static std::shared_ptr<const CallRules> arrive(AuthenticatedCall authenticated,
                                                   LoopServices& loop);
};

}  // namespace crab::core
