#pragma once

#include "base/clock.hpp"

#include <string>

namespace crab::core {

/// The description of a turn for events.
struct TurnSummary {
    std::string turn_id, tenant, agent, session, principal;
    /// Of the event that started it; empty for chats
    std::string event_id{}, event_type{};
    std::string target{};  ///< the target of the answer, a JSON object; may be empty
    SystemTime begun;
};

struct TurnEnd {
    SystemTime at;
    std::string outcome;  ///< `answer`, or the token of the error that ended it
    std::string text;  ///< the answer, or the error message
};

/// Notified of every turn: exactly one ended() follows each begun(), after the turn's last message
/// is stored, so that lost events can be reconstructed after a crash. Must not block. Thread-safe;
/// shared by all loops.
class TurnLog {
public:
    virtual ~TurnLog() = default;
    virtual void begun(const TurnSummary& story) = 0;
    virtual void ended(const TurnSummary& story, const TurnEnd& end) = 0;
};

}  // namespace crab::core
