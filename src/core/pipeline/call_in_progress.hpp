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

/// One call from its arrival to its end: what its stages learn of it, hold for it and leave to the
/// stages after them. Lives in Pipeline::run.
struct CallInProgress {
    /// Begins the timeline, gives the call an id and a tenant if it has none, and lists it among
    /// those that run. `tasks`: of the coroutine that runs the call.
    CallInProgress(AuthenticatedCall authenticated, LoopServices& loop, WhileRunning repeats,
                   TaskChain& tasks);

    Call& call() const { return authenticated.call(); }
    /// The call is at this stage since `now`, which is the last time that anybody looked.
    void reach(Stage stage);
    void reach_now(Stage stage);
    void look_at_the_clock() { now = loop.now(); }
    /// What the caller sees by these rules.
    View view(const Policy& policy) const;
    /// From the tool's labels and the caller's wishes. Errors: kForbidden, kInvalidArgs.
    Result<void> bind_policy();
    /// Counts the time that an approval took if that does not count against the call.
    void set_deadline(std::chrono::nanoseconds waited);
    bool needs_approval() const;
    /// The durable entry, if there is one: the call certainly had no effect.
    void forget_record() const;
    /// The call was cancelled because its caller's own deadline passed.
    bool out_of_time() const { return first && first->out_of_time(); }
    /// Why a call ends that was cancelled.
    Error given_up() const;

    LoopServices& loop;
    TaskChain& chain;
    const AuthenticatedCall authenticated;
    const PrincipalRef principal;
    const std::shared_ptr<const CallRules> rules;  ///< one set of rules from beginning to end …
    /// … but for the policy after an approval, which `facts.decision` views
    std::shared_ptr<const CallRules> newer;
    CallFacts facts;
    RunningCalls::Entry entry;
    ParsedArguments args;
    SteadyTime now{};
    bool hooked = false;  ///< a hook applies to the call
    bool counted = false;  ///< by the rates

    /// As the call was judged; `facts.tool` may be a later registration of it, after a retry
    ToolRef tool;
    std::shared_ptr<const EffectivePolicy> policy;  ///< of tools with limits
    Milliseconds allowed{0};
    Deadline limit{};  ///< of the tool
    Deadline deadline{};  ///< of all waits from here on: the limit, or the caller's before that

    // In the ledger
    const WhileRunning repeats;
    const LedgerKey key;
    /// A call whose id we made ourselves cannot be repeated by anybody, so the ledger in memory
    /// need not know it
    const bool repeatable;
    bool durable = false;  ///< the journal has to know it as well
    ContentDigest digest{};  ///< of calls with side effects or a key
    std::uint64_t content = 0;  ///< what a repeat must agree in
    Ledger::Ticket ticket;
    std::int64_t journal_number = 0;  ///< of the durable entry; 0: there is none
    /// As the first answer tells it, and every replay after it
    std::optional<std::chrono::nanoseconds> first_duration;

    std::optional<std::string> place;  ///< where an approval lets the call run
    ToolGate::Permit permit;  ///< of the gate of `facts.tool`
    UuidText request_id;  ///< of the event that tells of the dispatch
    std::unique_ptr<NewEvent> request;  ///< that event, until it is told; null: nobody wants it
    std::optional<FirstCaller> first;  ///< while the call is out to its host and can be repeated
    std::shared_ptr<LateCall> late;  ///< the host answered and its tool goes on

private:
    static std::shared_ptr<const CallRules> arrive(AuthenticatedCall authenticated,
                                                   LoopServices& loop);
};

}  // namespace crab::core
