#include "apps/crab/chat_approvals.hpp"

#include "apps/crab/approval_text.hpp"
#include "apps/crab/pretty_json.hpp"
#include "apps/crab/terminal.hpp"

#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

namespace crab::app {

void ChatApprovals::announce(ChatLink& link) { link.send(R"({"type":"connect","v":1,"device_name":"crab chat","capabilities":["approvals"]})"); }

void ChatApprovals::note(const std::string& text) const {
    fmt::print(stderr, "{}\n", Terminal::err().paint(Colour::kYellow, printable(text)));
    std::fflush(stderr);
}

/// Keeps what it says; does not wait for anybody.
bool ChatApprovals::is_about_approvals(const json::Value& frame) {
    const std::string type = text_of(frame, "type"), id = text_of(frame, "id");
    if (type == "approval_request") {
        questions_.push_back(frame);
    } else if (type == "approval_ended") {
        std::erase_if(questions_, [&](const json::Value& each) { return text_of(each, "id") == id; });
        const std::string by = text_of(frame, "by");
        note(fmt::format("approval {}: {}{}", id, text_of(frame, "state"), by.empty() ? "" : fmt::format(" by {} ({})", by, text_of(frame, "scope"))));
        if (asked_ == id) asked_.clear();
    } else if (type == "approval_refused") {
        note(fmt::format("approval {}: {}", id, text_of(frame, "message")));
    } else {
        return false;
    }
    return true;
}

ChatApprovals::Taken ChatApprovals::take(const json::Value& frame, const Show& show) {
    if (!is_about_approvals(frame)) return Taken::kNo;
    while (answers_ && !questions_.empty()) {
        const json::Value question = std::move(questions_.front());
        questions_.pop_front();
        if (!decide(question, show)) return Taken::kTurnOver;
    }
    return Taken::kYes;
}

/// False when the turn, or the link, ended meanwhile.
bool ChatApprovals::decide(const json::Value& question, const Show& show) {
    const bool terminal = ::isatty(STDIN_FILENO) != 0;
    asked_ = text_of(question, "id");
    note("? " + approval_text(question));
    for (bool prompt = true; !asked_.empty();) {
        if (prompt) fmt::print(stderr, "{} ", kApprovalChoices);
        prompt = false;
        if (terminal && link_.frame_before_input()) {
            const auto frame = link_.next();
            if (!frame) return true;   // whoever waits for the next frame learns that the link is gone
            if (!is_about_approvals(*frame) && !show(*frame)) return false;
            continue;
        }
        std::string line;
        if (!std::getline(std::cin, line)) return answers_ = false, true;
        const auto answer = parse_approval_answer(line);
        prompt = !answer;
        if (!answer) continue;
        json::Value word = json::Value::object({{"type", "approval_decision"}});
        word.set("id", asked_);
        word.set("decision", answer->decision);
        word.set("scope", answer->scope);
        link_.send(word.dump());
        return true;
    }
    return true;
}

}  // namespace crab::app
