#pragma once

#include "cli/chat_link.hpp"
#include "json/value.hpp"

#include <deque>
#include <functional>
#include <string>

namespace crab::cli {

/// Asks the person at this terminal the questions of a turn: approvals of calls
/// (docs/protocols/clawseed.md, section 9, `approvals`), and the agent's own questions (section 6,
/// "Questions").
class ChatPrompts {
public:
    /// Shows a frame that arrived while waiting for the person; false when it ends the turn.
    using Show = std::function<bool(const json::Value& frame)>;

    explicit ChatPrompts(ChatLink& link) : link_(link) {}
    /// Announces to the gateway that questions can be answered here; before anything else is sent.
    static void announce(ChatLink& link);

    enum class FrameUse : std::uint8_t { kNo, kYes, kTurnOver };
    /// Handles a frame that is or concerns a question, and waits for the person's answer if needed,
    /// while other frames go to `show`.
    FrameUse take(const json::Value& frame, const Show& show);

private:
    bool ask(const json::Value& question, const Show& show);
    void begin(const json::Value& question);
    void end_if_answered(const json::Value& frame);
    bool is_about_questions(const json::Value& frame);
    void note(const std::string& text) const;

    ChatLink& link_;
    std::deque<json::Value> questions_;  ///< open and not shown yet
    std::string asked_;  ///< id of the one that is shown; empty when it has ended
    std::string asked_call_;  ///< of an agent's question: its tool call, whose result ends it
    bool answers_ = true;  ///< until the input ends
};

}  // namespace crab::cli
