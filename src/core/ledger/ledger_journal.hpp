#pragma once

#include "base/task/batch_queue.hpp"
#include "core/ledger/ledger_key.hpp"
#include "core/ledger/ledger_store.hpp"

#include <atomic>
#include <cstdint>

namespace crab::core {

/// The durable half of the ledger, for calls with side effects or a key: admitted on disk before
/// they are dispatched, ended on disk before their answer leaves. All that waits shares a commit,
/// admissions and ends alike. Whoever asks has been admitted by the Ledger in memory first, so a
/// key is asked about by one call at a time. An entry that is neither ended nor released stays
/// open: its outcome is unknown to whoever repeats it. Thread-safe. Source:
/// docs/decisions/0009-durable-ledger.md.
class LedgerJournal {
public:
    struct Options {
        /// Older entries do not count; LedgerStore::forget() removes them
        std::chrono::hours keep{24};
    };
    /// `pool` should have a thread for this alone: what waits for the disk must not wait for other
    /// work.
    LedgerJournal(LedgerStore& store, BlockingPool& pool, const Clock& clock, Options options);
    LedgerJournal(LedgerStore& store, BlockingPool& pool, const Clock& clock)
        : LedgerJournal(store, pool, clock, Options{}) {}

    struct Admission {
        ContentDigest content{};
        bool may_run_again = false;  ///< after a crash a repeat runs again: it has no second effect
        std::string_view tool, source;  ///< unique name and source_text
        bool side_effects = true;
        std::string record;  ///< the audit record of the call, for calls with side effects
        std::string event, addressee;  ///< of the call's request, if somebody wants that
    };
    /// Returns when the admission is durable, or what is known of an earlier call with this key.
    /// Errors: those of the store; kRateLimited; kTimeout when `deadline` passes first, kCancelled.
    /// Then nothing is written, or it is released again. `timers` of the caller's loop; null: it is
    /// looked at when the admission is written.
    Task<Result<LedgerEntry>> admit(const LedgerKey& key, Admission admission, Deadline deadline,
                                    TimerWheel* timers = nullptr);
    /// What is known of the key; nothing is written. Errors: as of admit().
    Task<Result<LedgerEntry>> find(const LedgerKey& key, Deadline deadline,
                                   TimerWheel* timers = nullptr);
    /// Returns when the outcome is durable. Errors: those of the store; then the entry stays open.
    Task<Result<LedgerEntry>> end(std::int64_t number, std::shared_ptr<const Outcome> outcome,
                                  std::chrono::nanoseconds duration);
    /// Forgets an entry whose call certainly had no effect. Nobody waits: if it is lost, a repeat
    /// is refused, not run twice.
    void release(std::int64_t number);

    /// Whether the last commit failed.
    bool failing() const { return failing_.load(std::memory_order_relaxed); }
    std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
    /// Durable ones
    std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
    /// Changes of commits that failed
    std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

private:
    std::vector<Result<LedgerEntry>> write(std::vector<LedgerChange>& changes);

    LedgerStore& store_;
    const Clock& clock_;
    const Options options_;
    std::atomic<bool> failing_{false};
    std::atomic<std::uint64_t> commits_{0}, changes_{0}, refused_{0};
    /// Last: it writes out what waits while the rest still stands
    BatchQueue<LedgerChange, LedgerEntry> queue_;
};

}  // namespace crab::core
