#include "cli/chat_view.hpp"

#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::size_t kMostShown = 160;   // characters of arguments and outputs

std::string shortened(std::string_view text) {
    std::string shown = printable(text);
    if (shown.size() <= kMostShown) return shown;
    std::size_t end = kMostShown;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0u) == 0x80u) --end;
    return shown.substr(0, end) + "…";
}

}  // namespace

void ChatView::note(const std::string& text, std::string_view end) {
    // a script wants the answer
    if (!options_.once.empty() && !Terminal::err().interactive()) return;
    fmt::print(stderr, "{}{}", Terminal::err().paint(Colour::kDim, text), end);
    std::fflush(stderr);
}

void ChatView::end_line() {
    if (std::exchange(open_thought_, false)) note("");
    if (std::exchange(open_line_, false)) print_line("");
    std::fflush(stdout);
}

void ChatView::show_call(const json::Value& frame) {
    const std::string name = text_of(frame, "name"), place = places_.of(name);
    const json::Value* const args = frame.find("args");
    started_[text_of(frame, "id")] = std::chrono::steady_clock::now();
    end_line();
    note(fmt::format("→ {}{} {}", printable(name),
                     place.empty() ? "" : fmt::format(" on {}", printable(place)),
                     args != nullptr ? shortened(args->dump()) : ""));
}

void ChatView::show_result(const json::Value& frame) {
    const auto took = std::chrono::steady_clock::now() - started_[text_of(frame, "id")];
    end_line();
    if (text_of(frame, "output").starts_with("Error: APPROVAL_REQUIRED"))
        complain(printable(text_of(frame, "output")));
    note(fmt::format("← {} after {}: {}", printable(text_of(frame, "name")),
                     to_words(std::chrono::duration_cast<std::chrono::microseconds>(took)),
                     shortened(text_of(frame, "output"))));
}

bool ChatView::show(const json::Value& frame) {
    const std::string type = text_of(frame, "type");
    // answers this program's own connect and tells nothing of the turn
    if (type == "connected") return true;
    if (options_.output == Output::kJson) print_line(frame.dump());
    if (type == "agent_end") return false;
    if (type == "agent_start") begun_ = true;
    if (type == "error") {
        code_ = exit_code_of(text_of(frame, "code"));
        failure_ = text_of(frame, "code") + ": " + text_of(frame, "message");
        return begun_;  // a refused question has no turn that could end
    }
    if (type == "aborted") code_ = kExitInterrupted;
    if (options_.output == Output::kJson) return true;
    if (type == "chunk") {
        if (std::exchange(open_thought_, false)) note("");
        print(printable(text_of(frame, "content"), Lines::kKeep));
        std::fflush(stdout);
        open_line_ = true;
    } else if (type == "thinking") {
        open_thought_ = true;
        note(printable(text_of(frame, "content"), Lines::kKeep), "");
    } else if (type == "tool_call") {
        show_call(frame);
    } else if (type == "tool_result") {
        show_result(frame);
    }
    return true;
}

int ChatView::finish() {
    if (options_.output != Output::kJson) end_line();
    if (!failure_.empty()) complain(printable(failure_));
    if (code_ == kExitInterrupted) complain("cancelled");
    return code_;
}

}  // namespace crab::cli
