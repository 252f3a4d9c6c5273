#include "apps/crab/chat_link.hpp"
#include "apps/crab/admin_client.hpp"
#include "apps/crab/commands.hpp"
#include "apps/crab/durations.hpp"
#include "apps/crab/exit_codes.hpp"
#include "apps/crab/interrupt.hpp"
#include "apps/crab/pretty_json.hpp"
#include "apps/crab/terminal.hpp"

#include <chrono>
#include <iostream>
#include <iterator>
#include <map>

#include <fmt/format.h>

namespace crab::app {
namespace {

constexpr std::size_t kMostShown = 160;   // characters of arguments and outputs

std::string message_frame(std::string_view content) {
    json::Value frame = json::Value::object({{"type", "message"}});
    frame.set("content", content);
    return frame.dump();
}

std::string shortened(std::string_view text) {
    std::string shown = printable(text);
    if (shown.size() <= kMostShown) return shown;
    std::size_t end = kMostShown;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0u) == 0x80u) --end;
    return shown.substr(0, end) + "…";
}

/// Shows the frames of one turn: the answer on standard output, everything else on standard error.
class TurnView {
public:
    explicit TurnView(const Chat& options) : options_(options) {}

    /// False when the turn is over.
    bool show(const json::Value& frame) {
        const std::string type = text_of(frame, "type");
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
            print(printable(text_of(frame, "content"), Lines::kKeep));
            std::fflush(stdout);
            open_line_ = true;
        } else if (type == "thinking") {
            note(printable(text_of(frame, "content"), Lines::kKeep), "");
        } else if (type == "tool_call") {
            const json::Value* const args = frame.find("args");
            started_[text_of(frame, "id")] = std::chrono::steady_clock::now();
            end_line();
            note(fmt::format("→ {} {}", printable(text_of(frame, "name")), args != nullptr ? shortened(args->dump()) : ""));
        } else if (type == "tool_result") {
            const auto took = std::chrono::steady_clock::now() - started_[text_of(frame, "id")];
            end_line();
            note(fmt::format("← {} {}  {}", printable(text_of(frame, "name")), shortened(text_of(frame, "output")),
                             to_words(std::chrono::duration_cast<Milliseconds>(took))));
        }
        return true;
    }
    /// Ends the line of the answer, and says what went wrong.
    int finish() {
        if (options_.output != Output::kJson) end_line();
        if (!failure_.empty()) complain(printable(failure_));
        if (code_ == kExitInterrupted) complain("cancelled");
        return code_;
    }

private:
    void note(const std::string& text, std::string_view end = "\n") {
        if (!options_.once.empty() && !Terminal::err().interactive()) return;  // a script wants the answer
        fmt::print(stderr, "{}{}", Terminal::err().paint(Colour::kDim, text), end);
        std::fflush(stderr);
    }
    void end_line() {
        if (std::exchange(open_line_, false)) print_line("");
        std::fflush(stdout);
    }

    const Chat& options_;
    std::map<std::string, std::chrono::steady_clock::time_point> started_;
    std::string failure_;
    int code_ = kExitOk;
    bool begun_ = false;
    bool open_line_ = false;
};

int lost(const ChatLink& link) {
    complain(link.why_gone());
    return kExitUnreachable;
}

/// Asks and shows what comes. Ctrl-C cancels the turn; a second one ends the program.
std::optional<int> turn(ChatLink& link, const Chat& options, std::string_view question) {
    const Interrupt interrupt([&link] { link.send(R"({"type":"abort"})"); });
    link.send(message_frame(question));
    TurnView view(options);
    for (;;) {
        const auto frame = link.next();
        if (!frame) return std::nullopt;
        if (!view.show(*frame)) return view.finish();
    }
}

std::string all_of_standard_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

int converse(ChatLink& link, const Chat& options) {
    const bool asks = Terminal::err().interactive();
    for (std::string line; ;) {
        if (asks) fmt::print(stderr, "{}", Terminal::err().paint(Colour::kBold, "> "));
        if (!std::getline(std::cin, line) || line == "/quit") break;
        if (line.find_first_not_of(" \t") == std::string::npos) continue;
        if (!turn(link, options, line)) return lost(link);
    }
    if (asks) fmt::print(stderr, "\n");
    return kExitOk;
}

}  // namespace

int run(const Chat& options) {
    const auto place = find_gateway(options.target);
    if (!place) return report(place.error());
    auto link = ChatLink::open(*place, options.session);
    if (!link) return report(link.error());
    const auto start = (*link)->next();
    if (!start) return lost(**link);
    if (options.once.empty()) {
        const std::string resumed = text_of(*start, "name").empty() ? text_of(*start, "session_id") : text_of(*start, "name") + ", " + text_of(*start, "session_id");
        complain(fmt::format("chat {} ({} messages); /quit or Ctrl-D ends it, Ctrl-C cancels an answer", printable(resumed), number_of(*start, "message_count")));
        return converse(**link, options);
    }
    const std::string question = options.once == "-" ? all_of_standard_input() : options.once;
    const auto ended = turn(**link, options, question);
    return ended ? *ended : lost(**link);
}

}  // namespace crab::app
