#include "core/pipeline/keyed_run.hpp"

#include "core/ledger/ledger_content.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

KeyedRun::Known refused(Error error) {
    return {.outcome = std::make_shared<const Outcome>(fail(std::move(error))), .replayed = false};
}
KeyedRun::Known refused(ErrorCode code, std::string message) {
    return refused(fail(code, std::move(message)).error());
}

KeyedRun::Known key_conflict() {
    return refused(ErrorCode::kConflict,
                   "this idempotency key was used with other content; use a new one");
}

KeyedRun::Known open_elsewhere(const LedgerEntry& entry) {
    if (entry.status == LedgerStatus::kRunning)
        return refused(ErrorCode::kAlreadyInProgress,
                       "this request runs at another gateway; ask again for its outcome");
    return refused(ErrorCode::kOutcomeUnknown,
                   fmt::format("this request was begun at {} and the gateway stopped before its "
                               "end: look at what it did, then use a new key",
                               to_rfc3339(entry.admitted_at)));
}

}  // namespace

Task<KeyedRun::Known> KeyedRun::begin(LedgerKey key, std::string_view what, ContentDigest content,
                                      Deadline deadline) {
    begun_ = services_.clock.steady_now();
    while (true) {
        auto answer =
            services_.ledger.admit(key, content_of(content), services_.home, services_.timers);
        switch (answer.admission) {
            case Admission::kNew: ticket_ = std::move(answer.ticket); break;
            case Admission::kConflict: co_return key_conflict();
            case Admission::kBusy:
                co_return refused(ErrorCode::kAlreadyInProgress,
                                  "the first request with this key is still running");
            case Admission::kTooMany:
                co_return refused(ErrorCode::kRateLimited,
                                  "as many repeats as may wait for the first request with this key "
                                  "do so already; ask again when it has ended");
            case Admission::kReplay:
                co_return Known{.outcome = std::move(answer.outcome), .replayed = true};
            case Admission::kJoin: {
                const WaitEnd end = co_await answer.joiner->wait(deadline);
                if (end == WaitEnd::kCancelled)
                    co_return refused(ErrorCode::kCancelled, "the caller left");
                if (end == WaitEnd::kExpired)
                    co_return refused(
                        ErrorCode::kTimeout,
                        "the first request with this key has not ended in time; it goes on");
                if (answer.joiner->outcome)
                    co_return Known{.outcome = answer.joiner->outcome, .replayed = true};
                continue;
            }
        }
        break;
    }
    if (services_.journal == nullptr) co_return Known{};
    const auto entry = co_await services_.journal->admit(key,
                                                         {.content = content,
                                                          .may_run_again = false,
                                                          .tool = what,
                                                          .source = {},
                                                          .side_effects = true,
                                                          .record = {}},
                                                         deadline, &services_.timers);
    if (!entry) {
        ticket_ = {};
        co_return refused(entry.error());
    }
    if (entry->status == LedgerStatus::kAdmitted) {
        ref_ = entry->ref;
        co_return Known{};
    }
    if (entry->status == LedgerStatus::kFinished) {
        std::exchange(ticket_, {}).finish(entry->outcome, entry->duration);
        co_return Known{.outcome = entry->outcome, .replayed = true};
    }
    ticket_ = {};
    if (entry->status == LedgerStatus::kConflict) co_return key_conflict();
    co_return open_elsewhere(*entry);
}

Task<void> KeyedRun::end(Outcome outcome, Deadline deadline) {
    const auto kept = std::make_shared<const Outcome>(std::move(outcome));
    const std::chrono::nanoseconds duration = services_.clock.steady_now() - begun_;
    if (ref_)
        (void)co_await services_.journal->end(std::exchange(ref_, {}), kept, duration, deadline,
                                              &services_.timers);
    std::exchange(ticket_, {}).finish(kept, duration);
}

// After end() there is nothing left to release.
void KeyedRun::release() {
    if (ref_) services_.journal->release(std::exchange(ref_, {}));
    ticket_ = {};
}

}  // namespace crab::core
