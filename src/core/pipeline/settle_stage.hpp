#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/late_call.hpp"
#include "core/pipeline/result_check.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Stores the outcome of a dispatched call for repeats, in memory and durably, or releases its
/// entry if a repeat may run again. Releases the call's slots.
class SettleStage {
public:
    SettleStage(LoopServices& loop, ResultCheck& results) : loop_(loop), results_(results) {}

    /// Returns `outcome` once it is stored.
    MaybeTask<OutcomeRef> pass(OutcomeRef outcome, CallInProgress& progress);
    /// Records the late outcome of an answered call.
    Task<void> finish(LateCall& late, Outcome given);

private:
    void leave(CallInProgress& progress);
    Task<OutcomeRef> keep_durably(OutcomeRef outcome, OutcomeRef kept, CallInProgress& progress);
    Task<OutcomeRef> end_elsewhere(OutcomeRef otherwise, CallInProgress& progress);

    LoopServices& loop_;
    ResultCheck& results_;
};

}  // namespace crab::core
