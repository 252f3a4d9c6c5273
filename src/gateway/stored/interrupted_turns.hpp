#pragma once

#include "config/gateway_config.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/chat/turn_log.hpp"
#include "core/events/event_turn_store.hpp"

#include <vector>

namespace crab::gateway {

/// Turns that an earlier run of the gateway left open, and their outcomes according to their chat
/// sessions. Blocking.
class InterruptedTurns {
public:
    /// Loads the open turns of events. Errors: those of the stores.
    static Result<InterruptedTurns> find(core::EventTurnStore& turns, core::ChatSessionStore& chats,
                                         const config::GatewayConfig& config, const Clock& clock);

    /// The turns started by events; those of chats are only in the outbox.
    const std::vector<core::TurnSummary>& of_events() const { return of_events_; }
    /// How a turn ended: by its last message, else OUTCOME_UNKNOWN.
    Result<core::TurnEnd> end_of(const core::TurnSummary& story) const;
    /// Records the ends of turns of events. Call it last: until then they count as open.
    Result<void> record_ends();

private:
    InterruptedTurns(core::EventTurnStore& turns, core::ChatSessionStore& chats, const Clock& clock)
        : turns_(&turns), chats_(&chats), clock_(&clock) {}

    core::EventTurnStore* turns_;
    core::ChatSessionStore* chats_;
    const Clock* clock_;
    std::vector<core::TurnSummary> of_events_;
};

}  // namespace crab::gateway
