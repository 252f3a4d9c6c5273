#include "core/pipeline/dispatch_stage.hpp"

#include "base/task/waiter.hpp"
#include "core/call/call_span.hpp"
#include "core/call/tool_host.hpp"
#include "core/pipeline/call_endings.hpp"
#include "core/pipeline/limit_stage.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace crab::core {
namespace {

std::uint32_t retries_of(const CallInProgress& progress) {
    if (progress.policy) return progress.policy->retries();
    const std::uint32_t most = progress.rules->max_retries;
    return std::min(progress.call().policy.max_retries.value_or(most), most);
}

bool may_repeat(const Tool& tool, const Call& call, const Error& error) {
    if (call.wants_stream && tool.spec.streams) return false;  // frames may have reached the caller
    if (is_in_doubt(error.code)) {
        const bool harmless = may_run_again(tool);  // id and key are those of the first attempt
        return error.code == ErrorCode::kOutcomeUnknown && harmless &&
               error.retryable.value_or(true);
    }
    return error.may_retry();
}

/// While it lives, hosts see the call's own span as the parent, not its caller's.
class HandedSpan {
public:
    HandedSpan(Call& call, const TraceShare* share) : call_(call), callers_(call.traceparent) {
        if (share == nullptr) return;
        own_ = own_traceparent(call, *share);
        call.traceparent = own_;
    }
    HandedSpan(const HandedSpan&) = delete;
    HandedSpan& operator=(const HandedSpan&) = delete;
    ~HandedSpan() { call_.traceparent = callers_; }

private:
    Call& call_;
    const std::string_view callers_;
    std::string own_;
};

}  // namespace

Task<OutcomeRef> DispatchStage::pass(RecordedCall recorded, FrameSink& sink,
                                     CallInProgress& progress) {
    AdmittedCall admitted = recorded.admitted();
    Call& call = progress.call();
    if (progress.repeatable) {
        progress.first.emplace(loop_.shared.ledger, progress.key, call, progress.chain);
        if (call.on_overtime) {  // others may join, and have more time than the caller
            admitted.deadline_ = progress.deadline = progress.limit;
            progress.first->has_its_own_deadline(loop_.timers);
        }
    }
    return progress.request ? between_events(admitted, sink, progress)
                            : attempts(admitted, sink, progress);
}

Task<OutcomeRef> DispatchStage::between_events(AdmittedCall admitted, FrameSink& sink,
                                               CallInProgress& progress) {
    const UuidText request_id = progress.request_id;
    CallEvents& events = *loop_.shared.events;
    const bool told = events.requested(std::move(*std::exchange(progress.request, nullptr)));
    OutcomeRef outcome = co_await attempts(admitted, sink, progress);
    if (told)
        events.ended(admitted, request_id, loop_.ids.uuid_v7(), *outcome,
                     loop_.now() - admitted.call().timeline.started());
    co_return outcome;
}

Task<OutcomeRef> DispatchStage::attempts(AdmittedCall admitted, FrameSink& sink,
                                         CallInProgress& progress) {
    const std::uint32_t retries = retries_of(progress);
    const HandedSpan span(progress.call(), loop_.shared.traces);
    admitted.policy_ = progress.policy.get();
    admitted.first_dispatch_ = progress.now;  // nothing has waited since
    admitted.right_to_send_ = progress.right_to_send();
    if (progress.host_request) admitted.host_request_ = &*progress.host_request;
    if (!admitted.right_to_send_.holds()) co_return ended(lease_lapsed());
    for (;;) {
        const ToolRef tool = progress.facts.tool;
        const SteadyTime sent = progress.now;
        progress.reach(Stage::kDispatched);
        progress.facts.dispatched = true;
        Outcome outcome;
        try {
            outcome = co_await tool->host->run(admitted, sink);
        } catch (...) {
            log_thrown("a tool's host failed", tool->unique_name, progress.call());
            outcome = fail(ErrorCode::kInternal, "the tool's host failed unexpectedly");
        }
        if (!outcome && outcome.error().code == ErrorCode::kCancelled && progress.out_of_time())
            outcome = fail(progress.given_up());
        note_attempt(outcome, sent, progress);
        const bool again = !outcome && !progress.is_adopted() &&
                           static_cast<std::uint32_t>(admitted.attempt_) <= retries &&
                           may_repeat(*tool, progress.call(), outcome.error());
        const Next next =
            again ? co_await wait_for_next(admitted, outcome.error(), progress) : Next::kGiveUp;
        if (next == Next::kTryAgain) continue;
        if (next == Next::kCancelled) co_return ended(progress.given_up());
        co_return results_.check(*tool, std::move(outcome), *progress.rules);
    }
}

void DispatchStage::note_attempt(const Outcome& outcome, SteadyTime sent,
                                 CallInProgress& progress) {
    progress.look_at_the_clock();
    progress.facts.last = {.took = progress.now - sent,
                           .status = status_of(outcome),
                           .code = outcome ? ErrorCode::kInternal : outcome.error().code};
    progress.reach(Stage::kAnswered);
}

/// Waits, then finds the tool again: a device may have come back with a new registration meanwhile.
Task<DispatchStage::Next> DispatchStage::wait_for_next(AdmittedCall& admitted, Error error,
                                                       CallInProgress& progress) {
    const SteadyTime at = next_attempt_at(admitted.attempt_, error, progress);
    if (at >= admitted.deadline_) co_return Next::kGiveUp;
    Waiter pause(loop_.timers);
    const WaitEnd end = co_await pause.wait(at);
    progress.look_at_the_clock();
    if (end == WaitEnd::kCancelled) co_return Next::kCancelled;
    CallFacts& facts = progress.facts;
    auto found = loop_.registry.get()->resolve(progress.view(*progress.rules->policy),
                                               facts.tool->unique_name);
    if (!found || !stands_in_for(**found, *facts.tool)) co_return Next::kGiveUp;
    // Whoever adopts the call asks the process that is in the record.
    if (!may_run_again(*facts.tool) && progress.process != 0 &&
        (*found)->host->process() != progress.process)
        co_return Next::kGiveUp;
    if (!co_await LimitStage::move_permit(**found, progress)) co_return Next::kGiveUp;
    if (!admitted.right_to_send_.holds()) co_return Next::kGiveUp;
    facts.last.at =
        std::chrono::nanoseconds(progress.call().timeline.offset_ns(Stage::kDispatched));
    facts.attempts.push_back(facts.last);
    loop_.metrics.retries.add();
    facts.tool = std::move(*found);
    admitted.tool_ = facts.tool.get();
    ++admitted.attempt_;
    progress.look_at_the_clock();
    co_return Next::kTryAgain;
}

SteadyTime DispatchStage::next_attempt_at(int attempt, const Error& error,
                                          const CallInProgress& progress) {
    const Milliseconds most =
        longest_wait(progress.policy ? progress.policy->backoff : Backoff::kExponential, attempt);
    const auto jitter = Milliseconds(static_cast<std::int64_t>(
        loop_.ids.random() % static_cast<std::uint64_t>(most.count() + 1)));
    return loop_.now() + std::max(jitter, error.retry_after.value_or(Milliseconds(0)));
}

}  // namespace crab::core
