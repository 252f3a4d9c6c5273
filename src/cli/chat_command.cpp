#include "cli/admin_client.hpp"
#include "cli/chat_link.hpp"
#include "cli/chat_prompts.hpp"
#include "cli/chat_view.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/interrupt.hpp"
#include "cli/output/line_editor.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

namespace crab::cli {
namespace {

constexpr std::string_view kHelp =
    "/help             these lines\n"
    "/sessions         your chat sessions, the latest first\n"
    "/session ID       go on with another one, or begin it\n"
    "/new              begin a new one\n"
    "/again            have the last question answered anew\n"
    "/quit, Ctrl-D     end\n"
    "Ctrl-C cancels an answer, or drops the line; the arrow keys and Ctrl-R bring earlier "
    "questions back. Everything else is for the model.";

std::string message_frame(std::string_view content) {
    json::Value frame = json::Value::object({{"type", "message"}});
    frame.set("content", content);
    return frame.dump();
}

/// One after the other, a person's words: with editing on a terminal, as they are from anything
/// else.
class Questions {
public:
    Questions() {
        if (!::isatty(STDIN_FILENO) || !Terminal::err().interactive()) return;
        // The editor takes Ctrl-C for a key, a turn waits for it; in the moments between the two it
        // must not end the conversation.
        std::signal(SIGINT, SIG_IGN);
        const char* const state = std::getenv("XDG_STATE_HOME");
        const char* const home = std::getenv("HOME");
        std::filesystem::path folder;
        if (state != nullptr && *state == '/')
            folder = state;
        else if (home != nullptr && *home == '/')
            folder = std::filesystem::path(home) / ".local/state";
        editor_ = std::make_unique<LineEditor>(
            "crab", folder.empty() ? folder : folder / "crab/chat_history");
    }
    bool asks() const { return editor_ != nullptr; }
    /// Nothing at the end. A line that is not sent is remembered as well: somebody may want to fix
    /// it.
    std::optional<std::string> next() {
        if (editor_ == nullptr) {
            std::string line;
            return std::getline(std::cin, line) ? std::optional(line) : std::nullopt;
        }
        for (;;) {
            LineEditor::Line line = editor_->read("> ");
            if (line.end == LineEditor::End::kInterrupt) continue;
            if (line.end == LineEditor::End::kEnd) return std::nullopt;
            if (line.text.find_first_not_of(" \t") != std::string::npos)
                editor_->remember(line.text);
            return std::move(line.text);
        }
    }

private:
    std::unique_ptr<LineEditor> editor_;  ///< null: no terminal
};

/// A person's conversation, or one question of a script.
class ChatClient {
public:
    ChatClient(const Chat& options, GatewayEndpoint place)
        : options_(options), place_(std::move(place)), places_(options.target) {}

    Result<void> open(const std::string& session) {
        link_.reset();
        auto link = ChatLink::open(place_, session, options_.agent);
        if (!link) return fail(std::move(link.error()));
        const auto start = (*link)->next();
        if (!start) return fail(ErrorCode::kUnavailable, (*link)->why_gone());
        link_ = std::move(*link);
        if (options_.once.empty()) {
            ChatPrompts::announce(*link_);
            // nobody is there to answer questions; whoever lists an extension and not those for
            // questions says so
        } else {
            link_->send(R"({"type":"connect","v":1,"device_name":"crab chat",)"
                        R"("capabilities":["tools_registered.rejected"]})");
        }
        session_ = text_of(*start, "session_id");
        const std::string name = text_of(*start, "name"), agent = text_of(*start, "persona");
        greeting_ =
            fmt::format("chat {}{}{} ({} messages)", name.empty() ? "" : name + ", ", session_,
                        agent.empty() ? "" : " with " + agent, number_of(*start, "message_count"));
        if (!options_.agent.empty() && agent != options_.agent) {
            complain(printable(fmt::format(
                "this chat session has {}, not {}",
                agent.empty() ? "the standard agent" : "the agent " + agent, options_.agent)));
        }
        return {};
    }

    /// Asks and shows what comes. Ctrl-C cancels the turn; a second one ends the program. Nothing
    /// when the link is gone.
    std::optional<int> turn(const std::string& frame) {
        const Interrupt interrupt([this] { link_->send(R"({"type":"abort"})"); });
        link_->send(frame);
        ChatView view(options_, places_);
        ChatPrompts prompts(*link_);
        for (;;) {
            const auto told = link_->next();
            if (!told) return std::nullopt;
            const auto taken =
                prompts.take(*told, [&](const json::Value& other) { return view.show(other); });
            if (taken == ChatPrompts::FrameUse::kYes) continue;
            if (taken == ChatPrompts::FrameUse::kTurnOver || !view.show(*told))
                return view.finish();
        }
    }

    int once() {
        const std::string question = options_.once == "-"
                                         ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                         : options_.once;
        const auto ended = turn(message_frame(question));
        return ended ? *ended : lost();
    }

    int converse() {
        Questions questions;
        complain(printable(greeting_ + "; /help tells what else there is"));
        while (auto line = questions.next()) {
            if (line->find_first_not_of(" \t") == std::string::npos) continue;
            if (*line == "/quit") break;
            std::optional<std::string> frame = message_frame(*line);
            if (line->starts_with('/')) {
                auto answered = command(*line);
                if (!answered) return report(answered.error());
                frame = std::move(*answered);
            }
            if (frame && !turn(*frame)) {
                // The gateway may have been restarted while nobody said anything; what was said
                // there is not lost.
                complain(printable(link_->why_gone()));
                if (auto again = open(session_); !again) return report(again.error());
                complain(printable(greeting_ + " again; ask once more"));
            }
        }
        if (questions.asks()) fmt::print(stderr, "\n");
        return kExitOk;
    }

private:
    int lost() {
        complain(printable(link_->why_gone()));
        return kExitUnreachable;
    }

    /// What a line that begins with a slash sends: nothing, when it is answered here. A word that
    /// is not a command may be meant for the model.
    Result<std::optional<std::string>> command(const std::string& line) {
        const std::size_t space = line.find(' ');
        const std::string word = line.substr(0, space),
                          rest = space == std::string::npos
                                     ? ""
                                     : line.substr(line.find_first_not_of(' ', space));
        if (word == "/help") {
            print_line(kHelp);
        } else if (word == "/sessions") {
            list_sessions();
        } else if (word == "/new" || (word == "/session" && !rest.empty())) {
            if (auto opened = open(word == "/new" ? "" : rest); !opened) {
                complain(printable(opened.error().message));
                if (auto back = open(session_); !back) return fail(std::move(back.error()));
            }
            complain(printable(greeting_));
        } else if (word == "/again") {
            return std::optional<std::string>(R"({"type":"regenerate"})");
        } else if (word == "/session" || (space == std::string::npos && is_mistyped(word))) {
            complain(printable(fmt::format("{} is not a command here; /help lists them", line)));
        } else {
            return std::optional(message_frame(line));
        }
        return std::optional<std::string>();
    }

    /// `/tools` and `/tool` are for a gateway without a model; a word with another slash is a path.
    static bool is_mistyped(std::string_view word) {
        return word != "/tools" && word != "/tool" && word.find('/', 1) == std::string_view::npos &&
               word.size() > 1;
    }

    void list_sessions() {
        Result<AdminClient> client = AdminClient::make(options_.target);
        const Result<json::Value> reply =
            client ? accepted(client->get("/api/sessions")) : fail(client.error());
        if (!reply) return complain(printable(reply.error().message));
        Table table({"SESSION", "NAME", "AGENT", "MESSAGES", "LAST"});
        for (const json::Value& session : items_of(*reply, "sessions")) {
            const std::string id = text_of(session, "session_id");
            table.add({(id == session_ ? "* " : "  ") + id, text_of(session, "name"),
                       text_of(session, "persona"), text_of(session, "message_count"),
                       text_of(session, "last_activity")});
        }
        print(table.to_text(Terminal::out()));
    }

    const Chat& options_;
    const GatewayEndpoint place_;
    ToolLocations places_;
    std::unique_ptr<ChatLink> link_;
    std::string session_, greeting_;
};

}  // namespace

int run(const Chat& options) {
    auto place = find_gateway(options.target);
    if (!place) return report(place.error());
    ChatClient client(options, std::move(*place));
    if (auto opened = client.open(options.session); !opened) return report(opened.error());
    return options.once.empty() ? client.converse() : client.once();
}

}  // namespace crab::cli
