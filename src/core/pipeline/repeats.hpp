#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Asks the in-memory ledger about a call: it is new, or the outcome of the call it repeats, now or
/// when that has ended.
class Repeats {
public:
    explicit Repeats(LoopServices& loop) : loop_(loop) {}

    Ledger::Answer ask(std::uint64_t content, const CallInProgress& progress);
    /// The outcome for a repeat of `first`, which runs or has ended and is not kNew; null: there is
    /// none to replay, so ask() again.
    MaybeTask<OutcomeRef> outcome_of(Ledger::Answer first, Deadline deadline,
                                     CallInProgress& progress);

private:
    Task<OutcomeRef> join(Ledger::Answer first, Deadline deadline, CallInProgress& progress);

    LoopServices& loop_;
};

}  // namespace crab::core
