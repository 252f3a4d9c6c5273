#pragma once

#include "base/clock.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/events/event_filter.hpp"
#include "core/events/event_store.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::core {

/// Up to where subscribers have acknowledged, from one stream and one run of the gateway to the
/// next, and whether anybody waits for the events of calls. Acknowledgements are written as fast as
/// the disk takes them, many at a time; a crash may lose the latest, and then their events come
/// again. Thread-safe. Source: docs/protocols/rtp.md, section 9, "Receiving".
class EventSubscriptions {
public:
    static constexpr std::size_t kMostPerPeer = 64;

    /// Reads what is remembered. Errors: those of the store.
    static Result<std::unique_ptr<EventSubscriptions>> load(EventStore& store, BlockingPool& pool,
                                                            const Clock& clock);
    EventSubscriptions(const EventSubscriptions&) = delete;
    EventSubscriptions& operator=(const EventSubscriptions&) = delete;
    /// Writes what waits.
    ~EventSubscriptions();

    std::optional<EventPosition> acknowledged(std::string_view peer, std::string_view name) const;
    /// A stream begins after `start`, which is remembered when the subscription is new: what it is
    /// sent comes again until it is acknowledged. Errors: kRateLimited when the peer has
    /// kMostPerPeer others.
    Result<void> begin(std::string_view peer, std::string_view name, std::string_view types,
                       EventPosition start);
    /// Everything up to `position` has arrived. Never goes back; unknown subscriptions are ignored.
    void acknowledge(std::string_view peer, std::string_view name, EventPosition position);
    std::vector<SubscriptionState> list() const;

    /// A stream that is not remembered wants events of calls, or does no longer.
    void want_calls(bool wants);
    /// Whether a stream or a remembered subscription wants `tool.call.*`.
    bool wants_calls() const { return calls_wanted_.load(std::memory_order_relaxed) > 0; }

private:
    struct Known {
        SubscriptionState state;
        bool wants_calls = false;
        bool changed = false;
    };
    using Key = std::pair<std::string, std::string>;

    EventSubscriptions(EventStore& store, BlockingPool& pool, const Clock& clock)
        : store_(store), pool_(pool), clock_(clock) {}
    void change(Known& known);
    void write_changes();

    EventStore& store_;
    BlockingPool& pool_;
    const Clock& clock_;
    std::atomic<int> calls_wanted_{0};
    mutable std::mutex mutex_;
    std::condition_variable idle_;
    std::map<Key, Known> known_;
    bool writing_ = false;  ///< a task on the pool refers to this object
};

}  // namespace crab::core
