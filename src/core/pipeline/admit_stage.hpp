#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/recall.hpp"
#include "core/pipeline/repeats.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Checks the in-memory ledger for the call's id or key and its content. A repeat ends here with
/// the first call's outcome.
class AdmitStage {
public:
    AdmitStage(LoopServices& loop, Repeats& repeats, Recall& recall)
        : loop_(loop), repeats_(repeats), recall_(recall) {}

    /// Ends with kConflict, kAlreadyInProgress, kRateLimited; waiting repeats also with kTimeout,
    /// kCancelled.
    Step<UniqueCall> pass(ValidatedCall validated, CallInProgress& progress);

private:
    Result<void> identify(CallInProgress& progress) const;
    Task<Reached<UniqueCall>> repeat(ValidatedCall validated, Ledger::Answer first,
                                     CallInProgress& progress);
    static Reached<UniqueCall> admit(ValidatedCall validated, CallInProgress& progress);

    LoopServices& loop_;
    Repeats& repeats_;
    Recall& recall_;
};

}  // namespace crab::core
