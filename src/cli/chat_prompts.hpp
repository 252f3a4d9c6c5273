#pragma once

#include "cli/chat_link.hpp"
#include "json/value.hpp"

#include <deque>
#include <functional>
#include <string>

namespace crab::cli {

/// Asks the person at this terminal what a turn wants to know: about calls
/// (docs/protocols/clawseed.md, section 9, `approvals`), and for the agent itself (section 6,
/// "Questions").
class ChatPrompts {
public:
    /// Shows a frame that came while the person thought; false when it ends the turn.
    using Show = std::function<bool(const json::Value& frame)>;

    explicit ChatPrompts(ChatLink& link) : link_(link) {}
    /// Tells the gateway that somebody is here who can be asked; before anything else is sent.
    static void announce(ChatLink& link);

    enum class Taken : std::uint8_t { kNo, kYes, kTurnOver };
    /// Takes a frame if it asks something, or speaks of what was asked, and waits for the person's
    /// word where that is wanted, while other frames go to `show`.
    Taken take(const json::Value& frame, const Show& show);

private:
    bool ask(const json::Value& question, const Show& show);
    void begin(const json::Value& question);
    void end_if_answered(const json::Value& frame);
    bool is_about_questions(const json::Value& frame);
    void note(const std::string& text) const;

    ChatLink& link_;
    std::deque<json::Value> questions_;  ///< open and not asked yet
    std::string asked_;  ///< id of the one that is asked; empty when it is over
    std::string asked_call_;  ///< of an agent's question: its tool call, whose result ends it
    bool answers_ = true;  ///< until the input ends
};

}  // namespace crab::cli
