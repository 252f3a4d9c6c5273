#include "core/events/event.hpp"

#include <algorithm>

namespace crab::core {

std::string_view name_of(EventType type) {
    switch (type) {
        case EventType::kChannelMessageReceived: return "channel.message.received";
        case EventType::kChannelMessageEdited: return "channel.message.edited";
        case EventType::kChannelMessageDeleted: return "channel.message.deleted";
        case EventType::kCronTriggered: return "cron.triggered";
        case EventType::kHeartbeatTick: return "heartbeat.tick";
        case EventType::kAgentTurnStarted: return "agent.turn.started";
        case EventType::kAgentTurnCompleted: return "agent.turn.completed";
        case EventType::kAgentTurnFailed: return "agent.turn.failed";
        case EventType::kAgentResponseCreated: return "agent.response.created";
        case EventType::kToolCallRequested: return "tool.call.requested";
        case EventType::kToolCallCompleted: return "tool.call.completed";
        case EventType::kToolCallFailed: return "tool.call.failed";
        case EventType::kPairingStarted: return "pairing.started";
        case EventType::kPairingCompleted: return "pairing.completed";
        case EventType::kPairingFailed: return "pairing.failed";
        case EventType::kConfigApplied: return "config.applied";
        case EventType::kConfigReverted: return "config.reverted";
        case EventType::kApprovalRequested: return "approval.requested";
        case EventType::kApprovalDecided: return "approval.decided";
    }
    return "";
}

const std::array<EventType, kEventTypes>& all_event_types() {
    static constexpr auto kAll = [] {
        std::array<EventType, kEventTypes> all{};
        for (std::size_t i = 0; i < kEventTypes; ++i) all[i] = static_cast<EventType>(i);
        return all;
    }();
    return kAll;
}

std::optional<EventType> find_event_type(std::string_view name) {
    const auto& all = all_event_types();
    const auto found =
        std::ranges::find_if(all, [&](EventType type) { return name_of(type) == name; });
    return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace crab::core
