#pragma once

#include "base/result.hpp"
#include "core/events/event.hpp"

#include <bitset>
#include <string>
#include <string_view>

namespace crab::core {

/// A set of event types, given by globs.
class EventTypes {
public:
    /// All of them.
    EventTypes() { bits_.set(); }
    /// `a,b.*`; empty means all. Errors: kInvalidArgs when an item matches no type.
    static Result<EventTypes> parse(std::string_view globs);

    bool has(EventType type) const { return bits_.test(static_cast<std::size_t>(type)); }
    void remove(EventType type) { bits_.reset(static_cast<std::size_t>(type)); }
    bool empty() const { return bits_.none(); }
    /// Whether it holds one of `tool.call.*`.
    bool has_calls() const {
        return has(EventType::kToolCallRequested) || has(EventType::kToolCallCompleted) ||
               has(EventType::kToolCallFailed);
    }

private:
    std::bitset<kEventTypes> bits_;
};

/// The filter of a subscription; empty members match everything.
struct EventFilter {
    EventTypes types;
    std::string tenant, agent_id, session_id;

    bool matches(const Event& event) const {
        const auto fits = [](const std::string& wanted, const std::string& is) {
            return wanted.empty() || wanted == is;
        };
        return types.has(event.type) && fits(tenant, event.tenant) &&
               fits(agent_id, event.agent_id) && fits(session_id, event.session_id);
    }
};

}  // namespace crab::core
