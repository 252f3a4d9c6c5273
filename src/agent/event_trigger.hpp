#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"
#include "core/events/event_filter.hpp"
#include "json/parser.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::agent {

/// Matches a payload with a string at `pointer` that matches the glob.
struct PayloadCondition {
    std::string pointer;             ///< RFC 6901, into the payload
    Glob glob;
};

/// Which events start a turn of an agent, and with which prompt.
struct EventTrigger {
    core::EventFilter filter;        ///< its tenant is the agent's
    std::vector<PayloadCondition> where;   ///< all must hold
    std::string prompt;  ///< precedes the event in the question; empty: the default
    /// All its turns share one chat session; otherwise each event has its own
    bool one_session = false;
    Milliseconds max_age = std::chrono::hours(1);  ///< older events start nothing
};

/// Whether events of this type may start turns. Those that turns cause may not, to prevent loops.
bool may_start_turns(core::EventType type);

/// Whether the event matches the trigger. An envelope that is not JSON does not.
bool wants(const EventTrigger& trigger, const core::Event& event, json::Parser& parser);

/// The target of an answer to this event, as the JSON object for `routing.target` of an envelope:
/// the event's own, else the channel of its source; empty when it names neither.
std::string answer_target_of(const core::Event& event, json::Parser& parser);

/// The user message of the turn: the prompt, then the event, truncated if very long.
std::string question_of(const EventTrigger& trigger, const core::Event& event);

}  // namespace crab::agent
