#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// How many calls: of one principal in a time, by the rates, and of one tool at once, by its gate.
class LimitStage {
public:
    /// Takes the call's place at the tool's gate, in a bounded line if need be. Ends with
    /// kRateLimited, kCancelled.
    static Step<AdmittedCall> pass(ApprovedCall approved, CallInProgress& progress);
    /// By the rates, once for each call; repeats that wait count as well. Errors: kRateLimited.
    static Result<void> count(CallInProgress& progress);
    /// A registration has a gate of its own: the place at the gate of the one before is given back
    /// for one at that of `next`. False: there was none in time.
    static MaybeTask<bool> move_permit(const Tool& next, CallInProgress& progress);

private:
    static Task<Reached<AdmittedCall>> stand_in_line(ApprovedCall approved,
                                                     CallInProgress& progress);
    static AdmittedCall let_in(ApprovedCall approved, CallInProgress& progress);
    static Task<bool> enter(const Tool& next, CallInProgress& progress);
};

}  // namespace crab::core
