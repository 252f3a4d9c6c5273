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

/// A turn that was started by an event.
struct EventTurn {
    std::string turn_id, agent, event_id, event_type;
    ChatSessionId session;           ///< with its messages
    SystemTime begun;
    std::optional<SystemTime> ended{};
    std::string end{};               ///< `answer`, or the token of an error; empty while it runs
};

/// Records which events have started turns, so that none starts two, even across crashes. All
/// functions may block (call them on BlockingPool) and are thread-safe. Errors of all: kUnavailable
/// and kInternal of the store.
class EventTurnStore {
public:
    virtual ~EventTurnStore() = default;

    /// Whether this process has the agent to itself from now on; false while another process of a
    /// fleet has it. Who had it and lost it is told so by claim().
    virtual Result<bool> hold(std::string_view) { return true; }
    /// The agent's position in the outbox; nothing for a new agent.
    virtual Result<std::optional<EventPosition>> position(std::string_view agent) = 0;
    virtual Result<void> advance(std::string_view agent, EventPosition position) = 0;
    /// Claims the event at `position` durably before its turn runs. False, and only the position
    /// moves, when the agent has already had a turn for it. Errors: kConflict when another process
    /// has the agent now.
    virtual Result<bool> claim(const EventTurn& turn, EventPosition position) = 0;
    virtual Result<void> finish(std::string_view turn_id, std::string_view end, SystemTime at) = 0;
    /// Turns without an end, oldest first; at start those left by an earlier run of the gateway. In
    /// a fleet those that no process runs any more.
    virtual Result<std::vector<EventTurn>> open_turns() = 0;
    /// The newest first.
    virtual Result<std::vector<EventTurn>> latest(std::size_t most) = 0;
    /// Drops turns that have ended before that.
    virtual Result<void> forget(SystemTime ended_before) = 0;
};

}  // namespace crab::core
