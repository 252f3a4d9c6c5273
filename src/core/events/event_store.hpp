#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/call/content_digest.hpp"
#include "core/events/event.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// The effect of an event on the tracking of calls and turns, each of which starts and ends exactly
/// once.
enum class CallStep : std::uint8_t {
    kNone,
    kRequested,
    kEnded,
    kEndedUnknown,  ///< ended with unknown outcome; its host may settle it
    kSettles,  ///< the outcome reported by the host: accepted once, for a call of kEndedUnknown
};

/// An event to be appended.
struct NewEvent {
    Event event;
    std::string publisher;  ///< principal id; empty: the gateway itself, which never repeats events
    std::string idempotency_key;  ///< may be empty
    ContentDigest content{};  ///< of the content that a repeat must match
    CallStep step = CallStep::kNone;
    std::string call_id;  ///< of kEndedUnknown and kSettles
    std::string requested_id;  ///< of the ends: `event_id` of their request
    bool posted = false;  ///< set by the outbox: nobody waits for its receipt
    /// Set by the outbox for one that is sent again: should it be stored already, it is after this
    /// position, and dropped. Nothing: it was not sent before
    std::optional<EventPosition> sent_after{};
};

/// The result of appending. kDuplicate: its publisher has sent it before; kConflict: with other
/// content; kDropped: it settles no call.
enum class EventStatus : std::uint8_t { kAccepted, kDuplicate, kConflict, kDropped };
struct EventReceipt {
    EventStatus status = EventStatus::kAccepted;
    EventPosition position = 0;  ///< when accepted
    std::string event_id;  ///< of a duplicate: that of the first
};

/// The acknowledged position of a subscription, stored across streams.
struct SubscriptionState {
    std::string peer, name;
    EventPosition acknowledged = 0;
    std::string types;  ///< globs separated by commas, of the last stream; empty: all
    SystemTime seen;  ///< when a stream last started or acknowledged
};

/// Extent of the outbox.
struct EventBounds {
    EventPosition first = 1;  ///< of the oldest stored event; last + 1 when empty
    EventPosition last = 0;
    std::uint64_t bytes = 0;  ///< on disk, about
    SystemTime oldest;  ///< of the first; undefined when empty
};

/// Store of the outbox. All functions may block (call them on BlockingPool) and are thread-safe.
/// Errors of all: kUnavailable (disk full, busy, I/O), kInternal.
class EventStore {
public:
    virtual ~EventStore() = default;

    /// Appends the events in order in one durable commit; one answer each. On failure nothing is
    /// written, and every answer is the error.
    virtual std::vector<Result<EventReceipt>> append(const std::vector<NewEvent>& events,
                                                     SystemTime at) = 0;
    /// The next events after `after`, oldest first: at most `most`, and no more than about `bytes`
    /// of envelopes.
    virtual Result<std::vector<StoredEvent>> read(EventPosition after, std::size_t most,
                                                  std::size_t bytes) = 0;
    virtual Result<EventBounds> bounds() = 0;
    /// Requests of calls and starts of turns without an end, oldest first; at start those left by
    /// an earlier run of the gateway.
    virtual Result<std::vector<StoredEvent>> open_calls() = 0;
    /// The ids of requests and starts that were appended at `since` or later.
    virtual Result<std::vector<std::string>> requests_since(SystemTime since) = 0;

    virtual Result<std::vector<SubscriptionState>> subscriptions() = 0;
    /// Stores the subscriptions in one durable commit.
    virtual Result<void> remember(const std::vector<SubscriptionState>& states) = 0;

    /// Removes the oldest events, 1,000 at most: those before `before`, and those that exceed
    /// `max_bytes`; and subscriptions that were last seen before `before`. Returns the remaining
    /// extent.
    virtual Result<EventBounds> forget(SystemTime before, std::uint64_t max_bytes) = 0;
};

}  // namespace crab::core
