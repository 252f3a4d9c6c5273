#pragma once

#include "base/ordered_mutex.hpp"
#include "base/task/batch_queue.hpp"
#include "base/task/waiter.hpp"
#include "core/events/event_store.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace crab::core {

/// Wakes one coroutine when the outbox has new events. Owned by both sides.
class EventNotifier final : public RemoteWaiter {
public:
    using RemoteWaiter::RemoteWaiter;

private:
    friend class EventOutbox;
    std::atomic<bool> listening_{false};
};

/// The durable queue of all events. Publishers share commits (group commit) on a worker thread; the
/// newest events are cached in memory, so that streams which keep up read no disk. Thread-safe.
/// Source: docs/protocols/rtp.md, section 9.
class EventOutbox {
public:
    struct Options {
        Milliseconds keep = std::chrono::hours(24 * 7);
        std::uint64_t max_bytes = std::uint64_t{1} << 30;
        std::size_t recent_bytes = std::size_t{8} << 20;  ///< of envelopes in memory
        /// Backlog of unwritten events; beyond it publishers are refused
        std::size_t max_waiting_bytes = std::size_t{32} << 20;
        /// What was posted while the store is away is sent again until it takes it, not lost
        bool keep_posted = false;
    };
    using EventRef = std::shared_ptr<const StoredEvent>;

    /// Opens the outbox of the store. `writer` should have a thread of its own, `pool` is for
    /// reading. Errors: those of the store.
    static Result<std::unique_ptr<EventOutbox>> open(EventStore& store, BlockingPool& writer,
                                                     BlockingPool& pool, const Clock& clock,
                                                     Options options);
    static Result<std::unique_ptr<EventOutbox>> open(EventStore& store, BlockingPool& writer,
                                                     BlockingPool& pool, const Clock& clock) {
        return open(store, writer, pool, clock, Options{});
    }

    /// Returns when the event is durable or refused. Errors: those of the store; kRateLimited when
    /// the backlog is full; kTimeout when `deadline` passes first (then it is not written).
    Task<Result<EventReceipt>> publish(NewEvent event, Deadline deadline);
    /// Enqueues an event without waiting. False, and nothing happens, when the backlog is full.
    bool post(NewEvent event);
    /// The same for the end of an event pair; never refused.
    void post_owed(NewEvent event);

    /// Position of the oldest stored event, and of the newest; the outbox is empty when first() is
    /// last() + 1.
    EventPosition first() const { return first_.load(std::memory_order_acquire); }
    EventPosition last() const { return last_.load(std::memory_order_acquire); }

    /// Events after `after`, oldest first, at most `most`; empty if there are none yet. `after` is
    /// at least first() - 1. Errors: kNotFound when it is older; those of the store.
    Task<Result<std::vector<EventRef>>> read(EventPosition after, std::size_t most);

    /// In a fleet, other processes append to the store too: takes what they have, after it has sent
    /// what is kept. Called every second, blocking. Errors: those of the store.
    Result<void> look_for_others();

    /// Wakes `notifier` after each commit, until it is destroyed.
    void add(const std::shared_ptr<EventNotifier>& notifier);
    /// Sleeps until there is an event after `after`, `notifier` is woken, or `until`. On its
    /// thread.
    Task<WaitEnd> sleep(EventNotifier& notifier, EventPosition after, Deadline until);

    /// Removes events beyond the age or size limit, at most a thousand; called every second,
    /// blocking. False on failure.
    bool forget_old();

    /// For metrics.
    EventBounds bounds() const;
    /// The last commit failed
    bool failing() const { return failing_.load(std::memory_order_relaxed); }
    std::uint64_t accepted() const { return accepted_.load(std::memory_order_relaxed); }
    /// Posted events that were refused or not written
    std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
    std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

private:
    EventOutbox(EventStore& store, BlockingPool& writer, BlockingPool& pool, const Clock& clock,
                Options options, EventBounds bounds);
    using Receipts = std::vector<Result<EventReceipt>>;
    Receipts write(std::vector<NewEvent>& events);
    Receipts append(std::vector<NewEvent>& events);
    Result<void> send_kept();
    Result<void> take_new();
    void remember(std::vector<EventRef> events);
    void notify();

    EventStore& store_;
    BlockingPool& pool_;
    const Clock& clock_;
    const Options options_;
    std::atomic<EventPosition> first_, last_;
    std::atomic<std::uint64_t> accepted_{0}, lost_{0}, commits_{0};
    std::atomic<std::size_t> posted_bytes_{0};
    std::atomic<bool> failing_{false};
    std::deque<NewEvent> kept_;  ///< on the writer's thread: posted, and not taken by the store
    std::atomic<bool> keeps_{false};
    mutable OrderedMutex<LockRank::kEventOutbox> mutex_;
    std::deque<EventRef> recent_;  ///< the newest, without a gap
    std::size_t recent_bytes_ = 0;
    EventBounds bounds_;
    std::vector<std::weak_ptr<EventNotifier>> notifiers_;
    /// Last: its destructor flushes the queue using the other members
    BatchQueue<NewEvent, EventReceipt> queue_;
};

}  // namespace crab::core
