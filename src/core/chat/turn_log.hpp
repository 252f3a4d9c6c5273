#pragma once

#include "base/clock.hpp"

#include <string>

namespace crab::core {

/// A turn as others hear of it.
struct TurnStory {
    std::string turn_id, tenant, agent, session, principal;
    /// Of the event that started it; empty: somebody in a chat did
    std::string event_id{}, event_type{};
    std::string target{};  ///< where the answer belongs, a JSON object; empty: nowhere else
    SystemTime begun;
};

struct TurnEnd {
    SystemTime at;
    std::string outcome;  ///< `answer`, or the token of the error that ended it
    std::string text;  ///< the answer, or for people why there is none
};

/// Is notified of every turn and of its end: exactly one ended() follows each begun(), once the
/// turn's last words are stored, so that what a crash takes can be made up for from there. Returns
/// at once. Thread-safe; shared by all loops.
class TurnLog {
public:
    virtual ~TurnLog() = default;
    virtual void begun(const TurnStory& story) = 0;
    virtual void ended(const TurnStory& story, const TurnEnd& end) = 0;
};

}  // namespace crab::core
