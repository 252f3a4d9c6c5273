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

/// Acknowledged positions of subscribers, stored across streams and restarts, and whether there are
/// subscribers to events of calls. Acknowledgements are written in batches; a crash may lose the
/// latest, and their events are then delivered again. Thread-safe. Source: docs/protocols/rtp.md,
/// section 9, "Receiving".
class EventSubscriptions {
public:
    static constexpr std::size_t kMostPerPeer = 64;

    /// Loads the stored positions. Errors: those of the store.
    static Result<std::unique_ptr<EventSubscriptions>> load(EventStore& store, BlockingPool& pool,
                                                            const Clock& clock);
    EventSubscriptions(const EventSubscriptions&) = delete;
    EventSubscriptions& operator=(const EventSubscriptions&) = delete;
    /// Writes pending acknowledgements.
    ~EventSubscriptions();

    std::optional<EventPosition> acknowledged(std::string_view peer, std::string_view name) const;
    /// A stream starts after `start`, which is stored for a new subscription: its events are
    /// delivered again until they are acknowledged. Errors: kRateLimited when the peer has
    /// kMostPerPeer others.
    Result<void> begin(std::string_view peer, std::string_view name, std::string_view types,
                       EventPosition start);
    /// Acknowledges everything up to `position`. Never moves back; unknown subscriptions are
    /// ignored.
    void acknowledge(std::string_view peer, std::string_view name, EventPosition position);
    std::vector<SubscriptionState> list() const;

    /// In a fleet: takes what streams at other nodes have begun and acknowledged. Returns those
    /// that have moved. Blocking. Errors: those of the store.
    Result<std::vector<SubscriptionState>> look_for_others();

    /// A stream without a stored subscription starts or stops wanting events of calls.
    void want_calls(bool wants);
    /// Whether a stream or a stored subscription wants `tool.call.*`.
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
    void set_types(Known& known, const EventTypes& wanted, std::string_view types);
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
