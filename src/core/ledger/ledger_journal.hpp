#pragma once

#include "base/task/batch_queue.hpp"
#include "core/ledger/ledger_key.hpp"
#include "core/ledger/ledger_store.hpp"

#include <atomic>
#include <cstdint>

namespace crab::core {

/// Durable part of the ledger, for calls with side effects or a key: their admission is on disk
/// before they are dispatched, their end before they are answered. Waiting changes share a commit.
/// The in-memory Ledger admits calls first, so only one call per key gets here at a time. An entry
/// that is neither ended nor released stays open: its outcome is unknown to repeats. Thread-safe.
/// Source: docs/decisions/0009-durable-ledger.md.
class LedgerJournal {
public:
    struct Options {
        /// Older entries are ignored; LedgerStore::forget() removes them
        std::chrono::hours keep{24};
    };
    /// `pool` should have a thread of its own.
    LedgerJournal(LedgerStore& store, BlockingPool& pool, const Clock& clock, Options options);
    LedgerJournal(LedgerStore& store, BlockingPool& pool, const Clock& clock)
        : LedgerJournal(store, pool, clock, Options{}) {}

    struct Admission {
        ContentDigest content{};
        bool may_run_again = false;  ///< idempotent: after a crash a repeat runs again
        std::uint64_t process = 0;  ///< of the tool's host, as in LedgerAdmission
        std::string_view tool, source;  ///< unique name and source_text
        bool side_effects = true;
        std::string record;  ///< the audit record of the call, for calls with side effects
        std::string event, addressee;  ///< of the call's request event; may be empty
    };
    /// Returns when the admission is durable, or what is known of an earlier call with this key.
    /// Errors: those of the store; kRateLimited; kTimeout when `deadline` passes first, kCancelled.
    /// Then nothing is written, or it is released again. `timers` belongs to the caller's loop;
    /// null: the deadline is checked when the admission is written.
    Task<Result<LedgerEntry>> admit(const LedgerKey& key, Admission admission, Deadline deadline,
                                    TimerWheel* timers = nullptr);
    /// The entry of the key; writes nothing. Errors: those of admit().
    Task<Result<LedgerEntry>> find(const LedgerKey& key, Deadline deadline,
                                   TimerWheel* timers = nullptr);
    /// Returns when the outcome is durable. Errors: those of the store; then the entry stays open.
    /// kTimeout at `deadline`, kCancelled: it is written nevertheless, when its turn comes. Without
    /// `timers`, which belong to the caller's loop, it waits for as long as it takes.
    Task<Result<LedgerEntry>> end(LedgerRef ref, std::shared_ptr<const Outcome> outcome,
                                  std::chrono::nanoseconds duration,
                                  Deadline deadline = kNoDeadline, TimerWheel* timers = nullptr);
    /// Removes an entry whose call certainly had no effect, without waiting. If the removal is
    /// lost, a repeat is refused, not run twice.
    void release(LedgerRef ref);

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
    /// Last: its destructor flushes the queue using the other members
    BatchQueue<LedgerChange, LedgerEntry> queue_;
};

}  // namespace crab::core
