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

/// One run, under a key, of work that is no call of a tool but has effects as well. The ledger
/// decides about it as about calls, in memory and on disk: repeats join the run, replay its outcome
/// or hear that this is unknown. Used on the loop of `home`.
class KeyedRun {
public:
    struct Services {
        const Clock& clock;
        Ledger& ledger;
        LedgerJournal* journal;  ///< null: in memory only
        Executor home;
        TimerWheel& timers;
    };
    /// What a repeat is told. Without `replayed` an error of the ledger: kConflict,
    /// kOutcomeUnknown, kTimeout, kCancelled, kRateLimited, kUnavailable; nothing was run.
    struct Known {
        /// Null: there is none, and the work is to be done now
        std::shared_ptr<const Outcome> outcome;
        bool replayed = false;  ///< the outcome is that of the first run
    };

    explicit KeyedRun(Services services) : services_(services) {}

    /// Takes the work on, or waits for and tells what is known of it. `what` names the kind of
    /// work, as no tool is named.
    Task<Known> begin(LedgerKey key, std::string_view what, ContentDigest content,
                      Deadline deadline);
    /// The work that was taken on ended so; returns when repeats will get that, after a crash too.
    Task<void> end(Outcome outcome);
    /// Nothing has happened: a repeat may do it. Without this or end() it is unknown to repeats.
    /// After end(): nothing.
    void release();

private:
    Services services_;
    Ledger::Ticket ticket_;
    std::int64_t number_ = 0;  ///< of the durable entry; 0: there is none
    SteadyTime begun_{};
};

}  // namespace crab::core
