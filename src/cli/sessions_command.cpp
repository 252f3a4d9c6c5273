#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"

#include <string>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

std::string path_of_session(const std::string& id) {
    return "/api/sessions/" + net::percent_encode(id);
}

}  // namespace

int run(const SessionsList& options) {
    const auto ask_for_sessions = [&] {
        return fetch(
            options.target,
            fmt::format("/api/sessions?limit={}&agent={}&q={}", options.limit,
                        net::percent_encode(options.agent),
                        net::percent_encode(fmt::format("{}", fmt::join(options.words, " ")))));
    };
    const auto listing = [](const json::Value& answer) {
        return Listing{
            .members = {"sessions"},
            .name = by_member("session_id"),
            .columns = {column("SESSION", "session_id"), column("NAME", "name"),
                        column("AGENT", "persona"), column("MESSAGES", "message_count"),
                        column("LAST USED", "last_activity"), wide_column("BEGUN", "created_at")},
            .empty = "No chat sessions of yours. crab chat begins one.",
            .footer = text_of(answer, "cursor").empty() ? "" : "There are more: raise --limit.\n"};
    };
    return show_list(ask_for_sessions, listing, options.output);
}

int run(const SessionsShow& options) {
    const auto reply = fetch(options.target, path_of_session(options.id) + "/messages");
    if (!reply) return report(reply.error());
    if (!options.output.is_text()) return show_value(*reply, options.output);
    for (const json::Value& message : items_of(*reply, "messages"))
        print_line(fmt::format(
            "{}: {}", Terminal::out().paint(Colour::kBold, printable(text_of(message, "role"))),
            printable(text_of(message, "content"), Lines::kKeep)));
    return kExitOk;
}

int run(const SessionsDelete& options) {
    // what was said comes back in no way, unlike a device or a token that is made anew
    if (!options.yes && ::isatty(STDIN_FILENO) == 0) {
        complain("deleting is not undone; say --yes");
        return kExitFailed;
    }
    if (!may_go_on(
            options.yes,
            fmt::format("Delete the chat session {} and all that was said in it?", options.id)))
        return kExitFailed;
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply = accepted(client->remove(path_of_session(options.id)));
    if (!reply) return report(reply.error());
    return show_done(
        *reply, options.output, options.id,
        fmt::format("deleted {}; events and audit records of its calls stay", options.id));
}

}  // namespace crab::cli
