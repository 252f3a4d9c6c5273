#include "cli/chat_prompts.hpp"

#include "cli/output/approval_text.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/question_text.hpp"
#include "cli/output/terminal.hpp"

#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

namespace crab::cli {
namespace {

bool is_of_agent(const json::Value& question) {
    return text_of(question, "type") == "ask_user_request";
}
std::string id_of(const json::Value& question) {
    return text_of(question, is_of_agent(question) ? "request_id" : "id");
}

/// The frame that a typed line makes; nothing for a line that is not an answer.
std::optional<json::Value> word_of(const json::Value& question, std::string_view line) {
    if (is_of_agent(question)) return parse_question_answer(question, line);
    const auto answer = parse_approval_answer(line);
    if (!answer) return std::nullopt;
    json::Value word = json::Value::object({{"type", "approval_decision"}});
    word.set("id", id_of(question));
    word.set("decision", answer->decision);
    word.set("scope", answer->scope);
    return word;
}

}  // namespace

void ChatPrompts::announce(ChatLink& link) {
    link.send(R"({"type":"connect","v":1,"device_name":"crab chat","capabilities":["approvals",)"
              R"("ask_user"]})");
}

void ChatPrompts::note(const std::string& text) const {
    fmt::print(stderr, "{}\n", Terminal::err().paint(Colour::kYellow, printable(text)));
    std::fflush(stderr);
}

/// Keeps what it says; does not wait for anybody.
bool ChatPrompts::is_about_questions(const json::Value& frame) {
    const std::string type = text_of(frame, "type"), id = text_of(frame, "id");
    if (type == "approval_request" || type == "ask_user_request") {
        questions_.push_back(frame);
    } else if (type == "approval_ended") {
        std::erase_if(questions_, [&](const json::Value& each) { return id_of(each) == id; });
        const std::string by = text_of(frame, "by");
        note(
            fmt::format("approval {}: {}{}", id, text_of(frame, "state"),
                        by.empty() ? "" : fmt::format(" by {} ({})", by, text_of(frame, "scope"))));
        if (asked_ == id) asked_.clear();
    } else if (type == "approval_refused") {
        note(fmt::format("approval {}: {}", id, text_of(frame, "message")));
    } else if (type == "ask_user_ack") {
        if (text_of(frame, "status") == "not_pending")
            note("nobody waits for that answer any more");
        if (text_of(frame, "status") == "rejected")
            note("the answer was refused: " + text_of(frame, "error"));
    } else {
        return false;
    }
    return true;
}

/// A question of an agent ends with its call, whoever answered it, or when its time is over.
void ChatPrompts::end_if_answered(const json::Value& frame) {
    if (asked_call_.empty() || text_of(frame, "type") != "tool_result" ||
        text_of(frame, "id") != asked_call_)
        return;
    asked_.clear();
    note("the agent waits for this answer no longer");
}

ChatPrompts::FrameUse ChatPrompts::take(const json::Value& frame, const Show& show) {
    if (!is_about_questions(frame)) return FrameUse::kNo;
    while (answers_ && !questions_.empty()) {
        const json::Value question = std::move(questions_.front());
        questions_.pop_front();
        if (!ask(question, show)) return FrameUse::kTurnOver;
    }
    return FrameUse::kYes;
}

/// Shows what is asked.
void ChatPrompts::begin(const json::Value& question) {
    asked_ = id_of(question);
    asked_call_ = is_of_agent(question) ? text_of(question, "tool_call_id") : std::string();
    if (!is_of_agent(question)) return note("? " + approval_text(question));
    for (const std::string& line : question_lines(question)) note(line);
}

/// False when the turn, or the link, ended meanwhile.
bool ChatPrompts::ask(const json::Value& question, const Show& show) {
    const bool terminal = ::isatty(STDIN_FILENO) != 0;
    begin(question);
    for (bool prompt = true; !asked_.empty();) {
        if (prompt)
            fmt::print(stderr, "{} ",
                       is_of_agent(question) ? question_choices(question) : kApprovalChoices);
        prompt = false;
        if (terminal && link_.frame_before_input()) {
            const auto frame = link_.next();
            // whoever waits for the next frame learns that the link is gone
            if (!frame) return true;
            if (is_about_questions(*frame)) continue;
            end_if_answered(*frame);
            if (!show(*frame)) return false;
            continue;
        }
        std::string line;
        if (!std::getline(std::cin, line)) {
            answers_ = false;
            // Ctrl-D ends this turn's answers, not those of the next
            if (terminal) std::cin.clear();
            if (is_of_agent(question)) link_.send(question_response(question, "cancelled").dump());
            return true;
        }
        const auto word = word_of(question, line);
        prompt = !word;
        if (!word) continue;
        link_.send(word->dump());
        return true;
    }
    return true;
}

}  // namespace crab::cli
