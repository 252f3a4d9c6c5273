#include "core/pipeline/repeats.hpp"

#include "core/pipeline/call_endings.hpp"
#include "core/pipeline/limit_stage.hpp"

#include <utility>

namespace crab::core {
namespace {

Error crowded() {
    return {.code = ErrorCode::kRateLimited,
            .message =
                "as many repeats as may wait for a running call do so already, and this one was "
                "not run; ask again with the same id when the call has ended",
            .details = {},
            .retryable = true,
            .retry_after = Milliseconds(1'000)};
}

}  // namespace

Ledger::Answer Repeats::ask(std::uint64_t content, const CallInProgress& progress) {
    return loop_.shared.ledger.admit(progress.key, content, loop_.home, loop_.timers,
                                     progress.repeats);
}

MaybeTask<OutcomeRef> Repeats::outcome_of(Ledger::Answer first, Deadline deadline,
                                          CallInProgress& progress) {
    switch (first.admission) {
        case Admission::kReplay:
            progress.facts.replayed = true;
            progress.first_duration = first.duration;
            return std::move(first.outcome);
        case Admission::kConflict: return ended(conflict());
        case Admission::kTooMany: return ended(crowded());
        case Admission::kBusy:
            return ended(ErrorCode::kAlreadyInProgress,
                         "a stream of this call id is running; wait for it to end, then ask again");
        case Admission::kNew:
        case Admission::kJoin: break;
    }
    if (auto counted = LimitStage::count(progress); !counted)
        return ended(std::move(counted.error()));
    return join(std::move(first), deadline, progress);
}

Task<OutcomeRef> Repeats::join(Ledger::Answer first, Deadline deadline, CallInProgress& progress) {
    const WaitEnd end = co_await first.joiner->wait(deadline);
    if (end == WaitEnd::kCancelled) co_return ended(cancelled());
    if (end == WaitEnd::kExpired)
        co_return ended(ErrorCode::kTimeout,
                        "the first call with this id has not ended before the deadline");
    progress.facts.replayed = first.joiner->outcome != nullptr;
    co_return first.joiner->outcome;
}

}  // namespace crab::core
