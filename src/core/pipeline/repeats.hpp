#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// What the ledger in memory says of a call: it is new, or what it repeats is told, now or when it
/// has ended.
class Repeats {
public:
    explicit Repeats(LoopServices& loop) : loop_(loop) {}

    Ledger::Answer ask(std::uint64_t content, const CallInProgress& progress);
    /// What a repeat gets of the first call, which runs or has ended; null: that left nothing, so
    /// this one may ask() again. `first` is not kNew.
    MaybeTask<OutcomeRef> outcome_of(Ledger::Answer first, Deadline deadline,
                                     CallInProgress& progress);

private:
    Task<OutcomeRef> join(Ledger::Answer first, Deadline deadline, CallInProgress& progress);

    LoopServices& loop_;
};

}  // namespace crab::core
