#include "core/pipeline/record_stage.hpp"

#include "base/task/waiter.hpp"
#include "core/call/effects_lease.hpp"
#include "core/call/long_call.hpp"
#include "core/call/tool_host.hpp"
#include "core/pipeline/call_endings.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace crab::core {
namespace {

Error not_recorded() {
    return fail(ErrorCode::kUnavailable,
                "this call could not be recorded, so it was not run; free disk space or ask the "
                "operator")
        .error();
}
Error too_late() {
    return fail(ErrorCode::kTimeout,
                "the deadline passed before the call was sent, so it was not run; call again with "
                "more time")
        .error();
}
Error still_running() {
    return fail(ErrorCode::kTimeout,
                "the deadline passed while the same call runs at another gateway; call again with "
                "the same id and key")
        .error();
}

std::string record_of(const CallInProgress& progress) {
    std::string record;
    append_call_record(record, progress.call(), *progress.principal, progress.facts, nullptr);
    return record;
}

LedgerJournal::Admission admission_of(const Tool& tool, const CallInProgress& progress) {
    LedgerJournal::Admission admission{
        .content = progress.digest,
        .may_run_again = may_run_again(tool) || !resumed_by(progress.call()).empty(),
        .process = progress.process,
        .tool = tool.unique_name,
        .source = tool.source_text,
        .side_effects = tool.spec.side_effects,
        .record = {}};
    if (tool.spec.side_effects) admission.record = record_of(progress);
    if (progress.request) {
        admission.event = progress.request->event.envelope;
        admission.addressee = progress.request->event.addressee;
    }
    return admission;
}

}  // namespace

Step<RecordedCall> RecordStage::pass(AdmittedCall admitted, CallInProgress& progress) {
    const Tool& tool = admitted.tool();
    if (CallEvents* events = loop_.shared.events; events != nullptr && events->wants(tool)) {
        progress.request_id = loop_.ids.uuid_v7();
        progress.request = events->request(admitted, progress.request_id);
    }
    if (progress.durable) return in_journal(admitted, progress);
    if (tool.spec.side_effects) return in_audit_trail(admitted, progress);
    return in_time(admitted, progress);
}

Task<Reached<RecordedCall>> RecordStage::in_journal(AdmittedCall admitted,
                                                    CallInProgress& progress) {
    const Tool& tool = admitted.tool();
    if (tool.spec.side_effects && loop_.shared.audit.failing()) co_return end_with(not_recorded());
    progress.process = loop_.shared.lease != nullptr ? tool.host->process() : 0;
    const LedgerJournal::Admission admission = admission_of(tool, progress);
    auto entry = co_await admit(admission, progress);
    if (!entry) {
        const ErrorCode code = entry.error().code;
        const bool told = code == ErrorCode::kTimeout || code == ErrorCode::kRateLimited ||
                          code == ErrorCode::kCancelled;
        co_return end_with(told ? std::move(entry.error()) : not_recorded());
    }
    if (entry->status != LedgerStatus::kAdmitted)
        co_return end_with(co_await known_by(std::move(*entry), progress));
    progress.journal_ref = entry->ref;
    if (progress.process != 0)
        progress.host_request =
            HostRequest{.id = UuidText(entry->ref.high, entry->ref.low), .adopted = entry->adopted};
    if (!admission.record.empty())
        loop_.shared.audit.append_call(progress.principal->id,
                                       [&](std::string& out) { out += admission.record; });
    if (entry->adopted && !is_in_time(progress))
        co_return end_with(co_await end_adopted(*entry, progress));
    co_return last_look(admitted, progress);
}

/// There is no time left for what another gateway has begun.
Task<OutcomeRef> RecordStage::end_adopted(const LedgerEntry& entry, CallInProgress& progress) {
    OutcomeRef unknown = ended(unknown_since(entry.admitted_at));
    (void)co_await loop_.shared.journal->end(entry.ref, unknown, {}, progress.afterwards_until(),
                                             &loop_.timers);
    co_return unknown;
}

bool RecordStage::is_in_time(CallInProgress& progress) {
    progress.look_at_the_clock();
    return !progress.chain.cancelled() && progress.now < progress.deadline;
}

/// While another gateway of the fleet may run the key, it is asked for again: it ends, or whoever
/// runs it is fenced off.
Task<Result<LedgerEntry>> RecordStage::admit(const LedgerJournal::Admission& admission,
                                             CallInProgress& progress) {
    constexpr Milliseconds kSoon{100}, kLater{1'000};
    Waiter pause(loop_.timers);
    for (Milliseconds wait = kSoon;; wait = kLater) {
        if (const EffectsLease* lease = loop_.shared.lease)
            progress.incarnation = lease->incarnation();
        auto entry = co_await loop_.shared.journal->admit(progress.key, admission,
                                                          progress.deadline, &loop_.timers);
        if (!entry || entry->status != LedgerStatus::kRunning) co_return entry;
        const WaitEnd end = co_await pause.wait(std::min(loop_.now() + wait, progress.deadline));
        if (end == WaitEnd::kCancelled) co_return fail(cancelled());
        if (loop_.now() >= progress.deadline) co_return fail(still_running());
    }
}

/// Given to all who wait as well, if it is an outcome.
Task<OutcomeRef> RecordStage::known_by(LedgerEntry entry, CallInProgress& progress) {
    switch (entry.status) {
        case LedgerStatus::kFinished:
            progress.facts.replayed = true;
            progress.first_duration = entry.duration;
            progress.ticket.finish(entry.outcome, entry.duration);
            co_return entry.outcome;
        case LedgerStatus::kConflict: {
            progress.ticket.finish(nullptr);
            OutcomeRef known = co_await recall_.known_of(progress.facts.tool, conflict(), progress);
            co_return known ? std::move(known) : ended(conflict());
        }
        case LedgerStatus::kOpen: co_return ended(unknown_since(entry.admitted_at));
        case LedgerStatus::kIncomparable: co_return ended(recorded_otherwise(entry.admitted_at));
        case LedgerStatus::kAdmitted:
        case LedgerStatus::kRunning:
        case LedgerStatus::kAbsent: break;
    }
    co_return ended(ErrorCode::kInternal, "the ledger gave no answer");
}

Task<Reached<RecordedCall>> RecordStage::in_audit_trail(AdmittedCall admitted,
                                                        CallInProgress& progress) {
    const auto stored = co_await loop_.shared.audit.append_durable(record_of(progress),
                                                                   loop_.timers, progress.deadline);
    if (!stored && stored.error().code == ErrorCode::kTimeout) co_return end_with(too_late());
    if (!stored && !progress.chain.cancelled()) co_return end_with(not_recorded());
    co_return last_look(admitted, progress);
}

Reached<RecordedCall> RecordStage::last_look(AdmittedCall admitted, CallInProgress& progress) {
    progress.look_at_the_clock();
    return in_time(admitted, progress);
}

/// Not every wait of the stages before ends with the cancellation or at the deadline; each that
/// waited has looked at the clock.
Reached<RecordedCall> RecordStage::in_time(AdmittedCall admitted, CallInProgress& progress) {
    const bool over = progress.chain.cancelled();
    if (!over && progress.now < progress.deadline) return RecordedCall(admitted);
    progress.forget_record();
    return end_with(over ? cancelled() : too_late());
}

}  // namespace crab::core
