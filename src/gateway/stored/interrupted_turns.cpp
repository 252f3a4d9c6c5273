#include "gateway/stored/interrupted_turns.hpp"

#include "agent/event_turns.hpp"
#include "core/policy/policy.hpp"

#include <algorithm>

namespace crab::gateway {

Result<InterruptedTurns> InterruptedTurns::find(core::EventTurnStore& turns,
                                                core::ChatSessionStore& chats,
                                                const config::GatewayConfig& config,
                                                const Clock& clock) {
    const auto open = turns.open_turns();
    if (!open) return fail(open.error());
    InterruptedTurns found(turns, chats, clock);
    for (const core::EventTurn& turn : *open) {
        const auto agent =
            std::ranges::find(config.agents, turn.agent, &config::NamedAgentOptions::name);
        found.of_events_.push_back({.turn_id = turn.turn_id,
                                    .tenant = agent == config.agents.end()
                                                  ? std::string(core::kDefaultTenant)
                                                  : agent->tenant,
                                    .agent = turn.agent,
                                    .session = turn.session.text(),
                                    .principal = agent::principal_id_of(turn.agent),
                                    .event_id = turn.event_id,
                                    .event_type = turn.event_type,
                                    .begun = turn.begun});
    }
    return found;
}

Result<core::TurnEnd> InterruptedTurns::end_of(const core::TurnSummary& story) const {
    const auto stored = chats_->find_turn(ChatSessionId(story.session), story.turn_id);
    if (!stored) return fail(stored.error());
    if (*stored)
        return core::TurnEnd{
            .at = (*stored)->ended_at, .outcome = (*stored)->outcome, .text = (*stored)->text};
    return core::TurnEnd{
        .at = clock_->system_now(),
        .outcome = std::string(token_of(ErrorCode::kOutcomeUnknown)),
        .text = "the gateway stopped before the turn's end; it is not begun again"};
}

Result<void> InterruptedTurns::record_ends() {
    for (const core::TurnSummary& story : of_events_) {
        const auto end = end_of(story);
        if (!end) return fail(end.error());
        if (auto recorded = turns_->finish(story.turn_id, end->outcome, end->at); !recorded)
            return recorded;
    }
    return {};
}

}  // namespace crab::gateway
