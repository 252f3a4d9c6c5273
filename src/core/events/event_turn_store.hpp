#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/result.hpp"
#include "core/events/event.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// A turn that an event has started.
struct EventTurn {
    std::string turn_id, agent, event_id, event_type;
    ChatSessionId session;           ///< where its words are
    SystemTime begun;
    std::optional<SystemTime> ended{};
    std::string end{};               ///< `answer`, or the token of an error; empty while it runs
};

/// Which events have started turns, so that none starts two, whatever crashes in between. All
/// functions may block (call them on BlockingPool) and are thread-safe. Errors of all: kUnavailable
/// and kInternal of the store.
class EventTurnStore {
public:
    virtual ~EventTurnStore() = default;

    /// Up to where the agent has looked at the outbox; nothing for one that is new.
    virtual Result<std::optional<EventPosition>> position(std::string_view agent) = 0;
    virtual Result<void> advance(std::string_view agent, EventPosition position) = 0;
    /// Before a turn runs: its event, at `position`, belongs to it, durably. False, and only the
    /// position moves, when the agent has had a turn for this event.
    virtual Result<bool> claim(const EventTurn& turn, EventPosition position) = 0;
    virtual Result<void> finish(std::string_view turn_id, std::string_view end, SystemTime at) = 0;
    /// Turns without an end, the oldest first; after a start those that an earlier run of the
    /// gateway left.
    virtual Result<std::vector<EventTurn>> open_turns() = 0;
    /// The newest first.
    virtual Result<std::vector<EventTurn>> latest(std::size_t most) = 0;
    /// Drops turns that have ended before that.
    virtual Result<void> forget(SystemTime ended_before) = 0;
};

}  // namespace crab::core
