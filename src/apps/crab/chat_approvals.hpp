#pragma once

#include "apps/crab/chat_link.hpp"
#include "json/value.hpp"

#include <deque>
#include <functional>

namespace crab::app {

/// Asks the person at this terminal about the calls of his chat: the frames of docs/protocols/clawseed.md, section 9, `approvals`.
class ChatApprovals {
public:
    /// Shows a frame that came while the person thought; false when it ends the turn.
    using Show = std::function<bool(const json::Value& frame)>;

    explicit ChatApprovals(ChatLink& link) : link_(link) {}
    /// Tells the gateway that somebody is here who can be asked; before anything else is sent.
    static void announce(ChatLink& link);

    enum class Taken : std::uint8_t { kNo, kYes, kTurnOver };
    /// Takes a frame if it is about approvals, and waits for the person's word if it asks for one, while other frames go to `show`.
    Taken take(const json::Value& frame, const Show& show);

private:
    bool decide(const json::Value& question, const Show& show);
    void note(const std::string& text) const;
    bool is_about_approvals(const json::Value& frame);

    ChatLink& link_;
    std::deque<json::Value> questions_;   ///< open and not asked yet
    std::string asked_;                   ///< id of the one that is asked; empty when it is over
    bool answers_ = true;                 ///< until the input ends
};

}  // namespace crab::app
