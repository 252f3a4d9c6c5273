#pragma once

#include "base/clock.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task.hpp"
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

/// What is recorded other than calls, and by whose doing.
struct AuditEvent {
    std::string_view kind;  ///< such as `lease.granted`: one of a few, of the program's own choice
    std::string_view by;  ///< the principal or peer that caused it
    double burst = 20;  ///< so many of a kind by one principal are recorded at once
};

/// The audit log of all calls, and of what else peers do. Records of ordinary calls are gathered
/// and stored in batches a moment later; a record that must exist before something happens is
/// stored at once. Nothing is recorded without a bound for whoever caused it: calls are refused
/// before they begin, events have a rate. Thread-safe.
class AuditLog {
public:
    struct Options {
        std::size_t batch_bytes = std::size_t{1} << 20;  ///< a fuller buffer is handed over at once
        /// Not stored yet; beyond it no call begins, beyond 5/4 of it nothing is taken in
        std::size_t max_backlog_bytes = std::size_t{64} << 20;
        std::size_t max_backlog_records = 500'000;  ///< the same for their number
        std::size_t recent_bytes = std::size_t{4} << 20;  ///< kept in memory for explain
        AuditRate::Options rate{};  ///< of events
    };

    AuditLog(std::shared_ptr<AuditStore> store, BlockingPool& pool, const Clock& clock,
             Options options);
    AuditLog(std::shared_ptr<AuditStore> store, BlockingPool& pool, const Clock& clock)
        : AuditLog(std::move(store), pool, clock, Options{}) {}
    ~AuditLog();

    /// Lets `write(std::string& out)` append one JSON object to the current batch, about a call of
    /// `principal`. The caller has asked accepts() before the call began. False when the log holds
    /// all that it may: then the record is lost().
    template <class F>
    bool append_call(std::string_view principal, F&& write) {
        const std::scoped_lock lock(mutex_);
        return append(principal, std::forward<F>(write));
    }
    /// Records `{"event":kind,"time":…,…}`, the rest written by `members`, if it comes no faster
    /// than AuditRate allows. What does is counted and told by flush() as `audit.left_out`. False
    /// when it was not recorded.
    bool append_event(const AuditEvent& event, const std::function<void(json::Writer&)>& members);
    /// Whether there is room for more of what this principal does. A principal that fills the log
    /// is refused long before the others are.
    bool accepts(std::string_view principal = {}) const {
        return backlog_.load(std::memory_order_relaxed) < options_.max_backlog_bytes / kPressure ||
               accepts_more(principal);
    }
    /// Stores one record and returns when it is durable. Errors: those of the store.
    Task<Result<void>> append_durable(std::string record);

    /// Hands over what has been gathered; called on a timer (about 200 ms) and at the end.
    void flush();
    /// flush(), and waits for the store; blocking, for the end of the process and tests.
    void flush_and_wait();

    /// The newest record of this call, wherever it is now.
    Task<std::optional<std::string>> find_call(std::string call_id);
    /// The newest `limit` records, newest first.
    Task<std::vector<std::string>> latest(std::size_t limit);

    /// Whether the store refused what it was given last.
    bool failing() const { return failing_.load(std::memory_order_relaxed); }
    /// Records that the store refused, or that there was no room for
    std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
    std::size_t backlog_bytes() const { return backlog_.load(std::memory_order_relaxed); }

private:
    /// From this part of the most on it is counted who adds what, …
    static constexpr std::size_t kPressure = 4;
    /// … and this part of the most is what one principal may add then.
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
    /// Bytes by principal since the backlog has been long; under mutex_
    std::map<std::string, std::size_t, std::less<>> shares_;
    SteadyTime complained_{};  ///< under mutex_
    std::deque<std::shared_ptr<const AuditBatch>> recent_;  ///< newest last
    std::size_t recent_bytes_ = 0;
    std::atomic<std::size_t> backlog_{0};
    std::atomic<std::size_t> backlog_records_{0};
    std::atomic<std::uint64_t> lost_{0};
    std::atomic<bool> failing_{false};
    std::mutex storing_;  ///< batches reach the store in their order
    std::deque<std::shared_ptr<const AuditBatch>> to_store_;  ///< under mutex_
    std::size_t posted_ = 0;  ///< pool tasks that still refer to this object; under mutex_
    std::condition_variable all_done_;
};

}  // namespace crab::core
