#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/repeats.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// What the durable ledger knows of a call whose name leads nowhere now, or to a tool that is not
/// the one that it was made to: that one has left, or its source has not told its tools since the
/// start. The caller learns of its own calls only, as far as the rules would let it make them, and
/// hooks are asked as ever.
class Recall {
public:
    Recall(LoopServices& loop, Repeats& repeats) : loop_(loop), repeats_(repeats) {}

    /// The end of a call that was not authorized: the ledger is asked before the catalogue has the
    /// last word, `why`. Never null.
    MaybeTask<OutcomeRef> last_word(Error why, CallInProgress& progress);
    /// `there`: what the name leads to now; null: nowhere. `why`: what the caller is told
    /// otherwise. Null: there is nothing to tell.
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
