#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/call/content_digest.hpp"
#include "core/events/event.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// What an event does to the account of calls and turns: each that was requested (a turn: started)
/// ends exactly once.
enum class CallStep : std::uint8_t {
    kNone,
    kRequested,
    kEnded,
    kEndedUnknown,   ///< ended, but nobody knows how; the host that it was sent to may settle it
    kSettles,        ///< the host's own error: taken only for a call of kEndedUnknown, once
};

/// An event that wants into the outbox.
struct NewEvent {
    Event event;
    std::string publisher;  ///< principal id; empty: the gateway itself, which repeats nothing
    std::string idempotency_key;  ///< may be empty
    ContentDigest content{};  ///< of what a repeat must agree in
    CallStep step = CallStep::kNone;
    std::string call_id;  ///< of kEndedUnknown and kSettles
    std::string requested_id;  ///< of the ends: `event_id` of their request
    bool posted = false;  ///< nobody waits for its receipt; the outbox's own note
};

/// What became of it. kDuplicate: its publisher has sent it before; kConflict: but with other
/// content; kDropped: it settles nothing.
enum class EventStanding : std::uint8_t { kAccepted, kDuplicate, kConflict, kDropped };
struct EventReceipt {
    EventStanding standing = EventStanding::kAccepted;
    EventPosition position = 0;  ///< when accepted
    std::string event_id;  ///< of a duplicate: that of the first
};

/// Up to where somebody has acknowledged, remembered from one stream to the next.
struct SubscriptionState {
    std::string peer, name;
    EventPosition acknowledged = 0;
    std::string types;  ///< globs separated by commas, as the last stream asked; empty: all
    SystemTime seen;  ///< when a stream last began or acknowledged
};

/// What the outbox holds.
struct EventBounds {
    EventPosition first = 1;  ///< of the oldest that is kept; last + 1 when none is
    EventPosition last = 0;
    std::uint64_t bytes = 0;  ///< on disk, about
    SystemTime oldest;  ///< of the first; meaningless when none is kept
};

/// Where events wait for their subscribers. All functions may block (call them on BlockingPool) and
/// are thread-safe. Errors of all: kUnavailable (disk full, busy, I/O), kInternal.
class EventStore {
public:
    virtual ~EventStore() = default;

    /// All events in one durable commit, in their order; one answer each. When it fails nothing is
    /// written, and every answer is its error.
    virtual std::vector<Result<EventReceipt>> append(const std::vector<NewEvent>& events,
                                                     SystemTime at) = 0;
    /// The next events after `after`, oldest first: at most `most`, and no more than about `bytes`
    /// of envelopes.
    virtual Result<std::vector<StoredEvent>> read(EventPosition after, std::size_t most,
                                                  std::size_t bytes) = 0;
    virtual Result<EventBounds> bounds() = 0;
    /// Requests of calls, and starts of turns, that have no end, oldest first; after a start those
    /// that an earlier run of the gateway left.
    virtual Result<std::vector<StoredEvent>> open_calls() = 0;
    /// The ids of such requests and starts that the outbox took at `since` or later.
    virtual Result<std::vector<std::string>> requests_since(SystemTime since) = 0;

    virtual Result<std::vector<SubscriptionState>> subscriptions() = 0;
    /// Writes them as they are now, in one durable commit.
    virtual Result<void> remember(const std::vector<SubscriptionState>& states) = 0;

    /// Removes the oldest events, 1,000 at most: those before `before`, and those that exceed
    /// `max_bytes`; and subscriptions that were last seen before `before`. Returns what is left.
    virtual Result<EventBounds> forget(SystemTime before, std::uint64_t max_bytes) = 0;
};

}  // namespace crab::core
