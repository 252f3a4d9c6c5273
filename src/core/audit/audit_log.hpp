#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task.hpp"
#include "core/audit/audit_observer.hpp"
#include "core/audit/audit_rate.hpp"
#include "core/audit/audit_store.hpp"
#include "json/writer.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::core {

/// An audit event that is not a call.
struct AuditEvent {
    std::string_view kind;  ///< such as `lease.granted`; from a fixed set
    std::string_view by;  ///< the principal or peer that caused it
    double burst = 20;  ///< burst limit per kind and principal
};

/// The audit log of all calls and of administrative events. Records of ordinary calls are stored in
/// batches shortly after; a record that must precede an action is stored synchronously. Bounded per
/// principal: calls are refused before they start, events are rate-limited. Thread-safe.
class AuditLog {
public:
    struct Options {
        std::size_t batch_bytes = std::size_t{1} << 20;  ///< a fuller buffer is written immediately
        /// Backlog; beyond it no call starts, beyond 5/4 of it nothing is accepted
        std::size_t max_backlog_bytes = std::size_t{64} << 20;
        std::size_t max_backlog_records = 500'000;  ///< the same for the number of records
        std::size_t recent_bytes = std::size_t{4} << 20;  ///< kept in memory for explain
        AuditRate::Options rate{};  ///< of events
    };

    AuditLog(std::shared_ptr<AuditStore> store, BlockingPool& pool, const Clock& clock,
             Options options);
    AuditLog(std::shared_ptr<AuditStore> store, BlockingPool& pool, const Clock& clock)
        : AuditLog(std::move(store), pool, clock, Options{}) {}
    ~AuditLog();

    /// Lets `write(std::string& out)` append one JSON object to the current batch, about a call of
    /// `principal`. accepts() must have been checked before the call started. False when the
    /// backlog is full: the record counts as lost().
    template <class F>
    bool append_call(std::string_view principal, F&& write) {
        const std::scoped_lock lock(mutex_);
        if (append(principal, std::forward<F>(write))) return true;
        unrecorded_calls_.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    /// Records `{"event":kind,"time":…,…}`, the rest written by `members`, within AuditRate. Events
    /// above the rate are counted and reported by flush() as `audit.left_out`. False when it was
    /// not recorded.
    bool append_event(const AuditEvent& event, const std::function<void(json::Writer&)>& members);
    /// Whether the backlog has room for this principal. A principal that fills the log is refused
    /// long before others.
    bool accepts(std::string_view principal = {}) const {
        return backlog_.load(std::memory_order_relaxed) < options_.max_backlog_bytes / kPressure ||
               accepts_more(principal);
    }
    /// Stores one record and returns when it is durable. `timers` are the caller's. Errors: those
    /// of the store; kTimeout at `deadline` and kCancelled, after which it may still be stored.
    Task<Result<void>> append_durable(std::string record, TimerWheel& timers, Deadline deadline);

    /// Shows every batch from now on to `observer` too.
    void show_to(std::shared_ptr<AuditObserver> observer);

    /// Starts writing the buffered records; called on a timer (about 200 ms) and at shutdown.
    void flush();
    /// flush(), then waits for the store; blocking, for shutdown and tests.
    void flush_and_wait();

    /// The newest record of this call, in memory or in the store.
    Task<std::optional<std::string>> find_call(std::string call_id);
    /// The newest `limit` records, newest first.
    Task<std::vector<std::string>> latest(std::size_t limit);

    /// Whether the last write failed.
    bool failing() const { return failing_.load(std::memory_order_relaxed); }
    /// Records that the store refused or that did not fit the backlog
    std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
    /// Calls that have no record, and that no observer sees; they are among those of lost()
    std::uint64_t unrecorded_calls() const {
        return unrecorded_calls_.load(std::memory_order_relaxed);
    }
    std::size_t backlog_bytes() const { return backlog_.load(std::memory_order_relaxed); }

private:
    /// Above this fraction of the limit, use is counted per principal, …
    static constexpr std::size_t kPressure = 4;
    /// … and one principal may add this fraction of the limit.
    static constexpr std::size_t kShare = 16;

    template <class F>
    bool append(std::string_view principal, F&& write) {  // with mutex_ held
        if (is_full()) return refuse_record();
        const std::size_t before = begin_record();
        write(gathered_.records);
        end_record(principal, before);
        return true;
    }
    void tell_left_out(SteadyTime now);
    bool accepts_more(std::string_view principal) const;
    bool is_full() const;
    bool refuse_record();
    std::size_t begin_record();
    void end_record(std::string_view principal, std::size_t before);
    void hand_over();
    bool store_next();
    void store_batch(const AuditBatch& batch);
    void remember(std::shared_ptr<const AuditBatch> batch);
    std::optional<std::string> find_recent(std::string_view needle);

    std::shared_ptr<AuditStore> store_;
    BlockingPool& pool_;
    const Clock& clock_;
    const Options options_;
    mutable std::mutex mutex_;
    AuditBatch gathered_;
    AuditRate rate_;  ///< under mutex_
    /// Bytes by principal while the backlog is long; under mutex_
    std::map<std::string, std::size_t, std::less<>> shares_;
    SteadyTime complained_{};  ///< under mutex_
    std::vector<std::shared_ptr<AuditObserver>> observers_;  ///< under mutex_
    std::deque<std::shared_ptr<const AuditBatch>> recent_;  ///< newest last
    std::size_t recent_bytes_ = 0;
    std::atomic<std::size_t> backlog_{0};
    std::atomic<std::size_t> backlog_records_{0};
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<std::uint64_t> unrecorded_calls_{0};
    std::atomic<bool> failing_{false};
    OrderedMutex<LockRank::kAuditStoring> storing_;  ///< keeps batches in order
    std::deque<std::shared_ptr<const AuditBatch>> to_store_;  ///< under mutex_
    std::size_t posted_ = 0;  ///< pool tasks that still refer to this object; under mutex_
    std::condition_variable all_done_;
};

}  // namespace crab::core
