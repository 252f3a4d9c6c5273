#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Applies rate limits per principal and the concurrency limit (gate) of the tool.
class LimitStage {
public:
    /// Takes a slot at the tool's gate, queueing if needed. Ends with kRateLimited, kCancelled.
    static Step<AdmittedCall> pass(ApprovedCall approved, CallInProgress& progress);
    /// Counts the call once against the rate limits; waiting repeats count as well. Errors:
    /// kRateLimited.
    static Result<void> count(CallInProgress& progress);
    /// Exchanges the slot at the old registration's gate for one at that of `next`. False: none
    /// became free in time.
    static MaybeTask<bool> move_permit(const Tool& next, CallInProgress& progress);

private:
    static Task<Reached<AdmittedCall>> wait_in_queue(ApprovedCall approved,
                                                     CallInProgress& progress);
    static AdmittedCall admit(ApprovedCall approved, CallInProgress& progress);
    static Task<bool> enter(const Tool& next, CallInProgress& progress);
};

}  // namespace crab::core
