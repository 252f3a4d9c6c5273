#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"
#include "core/events/event_filter.hpp"
#include "json/parser.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::agent {

/// Holds for a payload that has a string at `pointer` which the glob matches.
struct PayloadCondition {
    std::string pointer;             ///< RFC 6901, into the payload
    Glob glob;
};

/// Which events start a turn of an agent, and with which words.
struct EventTrigger {
    core::EventFilter filter;        ///< its tenant is the agent's
    std::vector<PayloadCondition> where;   ///< all must hold
    std::string prompt;  ///< what the agent is asked, before the event itself; empty: ours
    /// All its turns go on with one chat session; otherwise each event has its own
    bool one_session = false;
    Milliseconds max_age = std::chrono::hours(1);  ///< older events start nothing
};

/// Whether events of this type may start turns. Those that turns themselves cause may not: they
/// would never end.
bool may_start_turns(core::EventType type);

/// Whether this is an event that the trigger asks for. An envelope that is not JSON is none.
bool wants(const EventTrigger& trigger, const core::Event& event, json::Parser& parser);

/// Where an answer to this event belongs, as the JSON object that is `routing.target` of an
/// envelope: the event's own, else the channel of its source; empty when it names neither.
std::string answer_target_of(const core::Event& event, json::Parser& parser);

/// The user's words of the turn: the prompt, then the event, cut where it is very long.
std::string question_of(const EventTrigger& trigger, const core::Event& event);

}  // namespace crab::agent
