#pragma once

#include "base/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::core {

/// The types of events; a closed list.
enum class EventType : std::uint8_t {
    kChannelMessageReceived,
    kChannelMessageEdited,
    kChannelMessageDeleted,
    kCronTriggered,
    kHeartbeatTick,
    kAgentTurnStarted,
    kAgentTurnCompleted,
    kAgentTurnFailed,
    kAgentResponseCreated,
    kToolCallRequested,
    kToolCallCompleted,
    kToolCallFailed,
    kPairingStarted,
    kPairingCompleted,
    kPairingFailed,
    kConfigApplied,
    kConfigReverted,
    kApprovalRequested,
    kApprovalDecided,
};
inline constexpr std::size_t kEventTypes = 19;

/// `tool.call.requested` and so on.
std::string_view name_of(EventType type);
std::optional<EventType> find_event_type(std::string_view name);
/// All of them, in the order of the enum.
const std::array<EventType, kEventTypes>& all_event_types();

/// The position of an event in the outbox: 1, 2, 3, …; 0 is before the first. Never decreases.
using EventPosition = std::int64_t;

/// A fact for subscribers.
struct Event {
    EventType type = EventType::kHeartbeatTick;
    std::string event_id, tenant, agent_id, session_id;
    /// For `tool.call.*` of the gateway: principal id of the paired host that got the call; else
    /// empty
    std::string addressee;
    std::string envelope;  ///< the JSON object for subscribers, which repeats all of this
};

/// An event of the outbox.
struct StoredEvent {
    EventPosition position = 0;
    SystemTime at;  ///< when the outbox accepted it
    Event event;
};

}  // namespace crab::core
