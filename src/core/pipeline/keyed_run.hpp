#pragma once

#include "base/clock.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/ledger/ledger.hpp"
#include "core/ledger/ledger_journal.hpp"

#include <chrono>
#include <memory>
#include <string_view>

namespace crab::core {

/// One run, under an idempotency key, of work with side effects that is not a tool call. Uses the
/// ledger like calls, in memory and on disk: repeats join the run, replay its outcome or get an
/// unknown outcome. Used on the loop of `home`.
class KeyedRun {
public:
    struct Services {
        const Clock& clock;
        Ledger& ledger;
        LedgerJournal* journal;  ///< null: in memory only
        Executor home;
        TimerWheel& timers;
    };
    /// The answer to a repeat. Without `replayed` an error of the ledger: kConflict,
    /// kOutcomeUnknown, kTimeout, kCancelled, kRateLimited, kUnavailable; nothing was run.
    struct Known {
        /// Null: the caller must do the work now
        std::shared_ptr<const Outcome> outcome;
        bool replayed = false;  ///< the outcome is that of the first run
    };

    explicit KeyedRun(Services services) : services_(services) {}

    /// Claims the work, or waits for and returns its known outcome. `what` names the kind of work.
    Task<Known> begin(LedgerKey key, std::string_view what, ContentDigest content,
                      Deadline deadline);
    /// Records the outcome; returns when it is durable, and at `deadline` at the latest.
    Task<void> end(Outcome outcome, Deadline deadline);
    /// Nothing has happened: a repeat may run it. Without this or end() the outcome is unknown to
    /// repeats. No effect after end().
    void release();

private:
    Services services_;
    Ledger::Ticket ticket_;
    LedgerRef ref_;  ///< of the durable entry; false: there is none
    SteadyTime begun_{};
};

}  // namespace crab::core
