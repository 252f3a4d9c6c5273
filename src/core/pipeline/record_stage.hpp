#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/recall.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Makes durable what must precede the run: with a journal, the admission of calls with side
/// effects or a key; otherwise the audit record of those with side effects. Checks the deadline a
/// last time.
class RecordStage {
public:
    RecordStage(LoopServices& loop, Recall& recall) : loop_(loop), recall_(recall) {}

    /// Ends with kUnavailable when it cannot be recorded, with kTimeout or kCancelled when it is
    /// too late, and for a call that an earlier run of the gateway or a dropped ledger entry has
    /// seen, with its outcome or the reason why it must not run.
    Step<RecordedCall> pass(AdmittedCall admitted, CallInProgress& progress);

private:
    Task<Reached<RecordedCall>> in_journal(AdmittedCall admitted, CallInProgress& progress);
    Task<Reached<RecordedCall>> in_audit_trail(AdmittedCall admitted, CallInProgress& progress);
    Task<Result<LedgerEntry>> admit(const LedgerJournal::Admission& admission,
                                    CallInProgress& progress);
    Task<OutcomeRef> known_by(LedgerEntry entry, CallInProgress& progress);
    Task<OutcomeRef> end_adopted(const LedgerEntry& entry, CallInProgress& progress);
    static bool is_in_time(CallInProgress& progress);
    static Reached<RecordedCall> last_look(AdmittedCall admitted, CallInProgress& progress);
    static Reached<RecordedCall> in_time(AdmittedCall admitted, CallInProgress& progress);

    LoopServices& loop_;
    Recall& recall_;
};

}  // namespace crab::core
