#include "core/pipeline/settle_stage.hpp"

#include "core/call/long_call.hpp"
#include "core/pipeline/call_endings.hpp"

#include <utility>

namespace crab::core {
namespace {

/// Whether the caller's going ended it, or the caller's own deadline: not the tool, its limits, or
/// somebody by the call's id.
bool is_left(const Outcome& outcome, const CallInProgress& progress) {
    if (outcome) return false;
    const ErrorCode code = outcome.error().code;
    const bool gone = progress.chain.cancelled() && !progress.entry.cancelled_by_id();
    if (code == ErrorCode::kTimeout)
        return gone || progress.deadline == progress.call().caller_deadline;
    return code == ErrorCode::kCancelled && gone;
}

/// A ref gets one end: this one came when it had another, so whoever took the call over tells its
/// outcome.
bool has_lost(const Result<LedgerEntry>& written) {
    return written && written->status == LedgerStatus::kOpen;
}

Error taken_over() {
    return {.code = ErrorCode::kOutcomeUnknown,
            .message =
                "another gateway has taken this call over before it ended here; call again "
                "with the same id and key to hear its outcome",
            .details = {},
            .retryable = false,
            .retry_after = {}};
}

/// Of an adopted call.
Error not_ended_here() {
    return {.code = ErrorCode::kOutcomeUnknown,
            .message =
                "another gateway sent this call and died, and the device that has it cannot be "
                "asked now: it may or may not have run; look at the tool's effects, then use a new "
                "key",
            .details = {},
            .retryable = false,
            .retry_after = {}};
}

}  // namespace

MaybeTask<OutcomeRef> SettleStage::pass(OutcomeRef outcome, CallInProgress& progress) {
    progress.first.reset();
    if (progress.late) {
        leave(progress);
        return outcome;
    }
    progress.permit = {};
    const bool adopted = progress.is_adopted();
    const bool no_trace = leaves_no_trace(*outcome, *progress.tool, progress.facts.dispatched);
    if (no_trace && adopted) outcome = ended(not_ended_here());
    if (no_trace && (!adopted || may_run_again(*progress.tool))) {
        progress.forget_record();
        progress.ticket.finish(nullptr);
        return outcome;
    }
    const LongCall* const front = long_call_of(progress.call());
    if (front != nullptr && front->stays_open() && !*outcome && progress.chain.cancelled()) {
        progress.ticket.finish(nullptr);
        return outcome;
    }
    // Whoever adopts it hears from the tool's host what it has come to.
    if (progress.process != 0 && !*outcome && is_in_doubt(outcome->error().code) &&
        progress.is_fenced_off()) {
        progress.ticket.finish(nullptr);
        return end_elsewhere(std::move(outcome), progress);
    }
    // A replay tells the same duration as the first answer did.
    progress.first_duration = progress.now - progress.call().timeline.started();
    // Nobody asked for the end of a call whose caller left: a repeat has to hear that it may have
    // run.
    OutcomeRef kept =
        is_left(*outcome, progress)
            ? ended(ErrorCode::kOutcomeUnknown,
                    "the caller left while this call ran; it may or may not have taken effect")
            : outcome;
    if (progress.journal_ref) return keep_durably(std::move(outcome), std::move(kept), progress);
    progress.ticket.finish(std::move(kept), *progress.first_duration);
    return outcome;
}

/// An end that cannot be stored leaves the entry open: after a restart the outcome is unknown, and
/// until then memory knows it. One that is not stored by the deadline is stored later.
Task<OutcomeRef> SettleStage::keep_durably(OutcomeRef outcome, OutcomeRef kept,
                                           CallInProgress& progress) {
    const auto written =
        co_await loop_.shared.journal->end(progress.journal_ref, kept, *progress.first_duration,
                                           progress.afterwards_until(), &loop_.timers);
    if (written && progress.host_request && progress.host_request->when_kept)
        progress.host_request->when_kept();
    if (has_lost(written)) {
        progress.ticket.finish(nullptr);
        co_return co_await end_elsewhere(ended(taken_over()), progress);
    }
    progress.ticket.finish(std::move(kept), *progress.first_duration);
    co_return outcome;
}

/// Whoever adopted it tells what its one run came to; whoever took it over ran it again.
Task<OutcomeRef> SettleStage::end_elsewhere(OutcomeRef otherwise, CallInProgress& progress) {
    if (progress.process == 0) co_return otherwise;
    const auto known = co_await loop_.shared.journal->find(
        progress.key, progress.afterwards_until(), &loop_.timers);
    const bool adopted =
        known && known->status == LedgerStatus::kFinished && known->ref == progress.journal_ref;
    co_return adopted ? known->outcome : std::move(otherwise);
}

/// Everything that the call still occupies goes to its LateCall.
void SettleStage::leave(CallInProgress& progress) {
    LateCall& late = *progress.late;
    late.settle_ = this;
    late.tool_ = progress.facts.tool;
    late.rules_ = progress.rules;
    late.permit_ = std::move(progress.permit);
    late.ticket_ = std::move(progress.ticket);
    late.journal_ref_ = std::exchange(progress.journal_ref, {});
    late.started_ = progress.call().timeline.started();
}

std::shared_ptr<LateCall> AdmittedCall::leave_running() const {
    auto late = std::make_shared<LateCall>();
    *late_ = late;
    return late;
}

Task<void> LateCall::finish(Outcome outcome) {
    if (settle_ != nullptr) co_await settle_->finish(*this, std::move(outcome));
}

Task<void> SettleStage::finish(LateCall& late, Outcome given) {
    const Tool& tool = *late.tool_;
    OutcomeRef outcome = results_.check(tool, std::move(given), *late.rules_);
    late.permit_ = {};
    if (leaves_no_trace(*outcome, tool, true)) {
        if (late.journal_ref_) loop_.shared.journal->release(late.journal_ref_);
        late.ticket_.finish(nullptr);
        co_return;
    }
    if (!*outcome && is_in_doubt(outcome->error().code)) {
        outcome = ended(ErrorCode::kOutcomeUnknown,
                        "the first call of this key was given up before its tool ended, and the "
                        "tool does not say what it did");
    }
    const std::chrono::nanoseconds duration = loop_.now() - late.started_;
    if (late.journal_ref_ &&
        has_lost(co_await loop_.shared.journal->end(late.journal_ref_, outcome, duration))) {
        late.ticket_.finish(nullptr);
        co_return;
    }
    late.ticket_.finish(std::move(outcome), duration);
}

}  // namespace crab::core
