#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/late_call.hpp"
#include "core/pipeline/result_check.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// What is kept of a call that was dispatched: what its repeats will get, in memory and durably, or
/// nothing if one of them may run again. Gives back what the call occupied.
class SettleStage {
public:
    SettleStage(LoopServices& loop, ResultCheck& results) : loop_(loop), results_(results) {}

    /// Gives `outcome` back once it is kept.
    MaybeTask<OutcomeRef> pass(OutcomeRef outcome, CallInProgress& progress);
    /// The tool of a call that was answered has ended so.
    Task<void> finish(LateCall& late, Outcome given);

private:
    void leave(CallInProgress& progress);
    Task<OutcomeRef> keep_durably(OutcomeRef outcome, OutcomeRef kept, CallInProgress& progress);

    LoopServices& loop_;
    ResultCheck& results_;
};

}  // namespace crab::core
