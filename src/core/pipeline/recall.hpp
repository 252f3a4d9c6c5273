#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/repeats.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Looks up the durable ledger for a repeat whose name does not resolve, or resolves to another
/// tool than the first call's, because the tool was removed or its source has not listed its tools
/// since the start. Callers find only their own calls that the rules would allow; hooks run as
/// usual.
class Recall {
public:
    Recall(LoopServices& loop, Repeats& repeats) : loop_(loop), repeats_(repeats) {}

    /// The end of a call that was not authorized: the stored outcome, otherwise `why`. Never null.
    MaybeTask<OutcomeRef> end_unauthorized(Error why, CallInProgress& progress);
    /// `there`: what the name resolves to, may be null. `why`: the error if nothing is stored.
    /// Null: nothing is stored.
    MaybeTask<OutcomeRef> known_of(ToolRef there, Error why, CallInProgress& progress);

private:
    struct Question;
    Task<OutcomeRef> known_or(Error why, CallInProgress& progress);
    Task<OutcomeRef> look_up(ToolRef there, Error why, CallInProgress& progress);
    Task<OutcomeRef> tell(const Question& question, const ContentDigest& digest,
                          CallInProgress& progress);
    static ToolRef absent_tool_of(const LedgerEntry& entry, const CallInProgress& progress);
    static Task<Reached<ContentDigest>> judge(ToolRef tool, bool has_hooks,
                                              CallInProgress& progress);

    LoopServices& loop_;
    Repeats& repeats_;
};

}  // namespace crab::core
