#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"

#include <cstdio>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

std::string path_of_session(const std::string& id) {
    return "/api/sessions/" + net::percent_encode(id);
}

/// Asks on a terminal; elsewhere `--yes` has to say it.
bool may_delete(const std::string& id) {
    if (::isatty(STDIN_FILENO) == 0) {
        complain("deleting is not undone; say --yes");
        return false;
    }
    fmt::print("Delete the chat session {} and all that was said in it? [y/N] ", printable(id));
    std::fflush(stdout);
    const int answer = std::getchar();
    return answer == 'y' || answer == 'Y';
}

}  // namespace

int run(const SessionsList& options) {
    const auto reply =
        fetch(options.target,
              fmt::format("/api/sessions?limit={}&agent={}&q={}", options.limit,
                          net::percent_encode(options.agent),
                          net::percent_encode(fmt::format("{}", fmt::join(options.words, " ")))));
    if (!reply) return report(reply.error());
    if (options.output == Output::kJson) return print_json(*reply), kExitOk;
    Table table({"SESSION", "NAME", "AGENT", "MESSAGES", "LAST USED"});
    for (const json::Value& session : items_of(*reply, "sessions"))
        table.add({text_of(session, "session_id"), text_of(session, "name"),
                   text_of(session, "persona"), text_of(session, "message_count"),
                   text_of(session, "last_activity")});
    if (table.empty())
        print_line("No chat sessions of yours. crab chat begins one.");
    else
        print(table.to_text(Terminal::out()));
    if (!text_of(*reply, "cursor").empty()) print_line("There are more: raise --limit.");
    return kExitOk;
}

int run(const SessionsShow& options) {
    const auto reply = fetch(options.target, path_of_session(options.id) + "/messages");
    if (!reply) return report(reply.error());
    if (options.output == Output::kJson) return print_json(*reply), kExitOk;
    for (const json::Value& message : items_of(*reply, "messages"))
        print_line(fmt::format(
            "{}: {}", Terminal::out().paint(Colour::kBold, printable(text_of(message, "role"))),
            printable(text_of(message, "content"), Lines::kKeep)));
    return kExitOk;
}

int run(const SessionsDelete& options) {
    if (!options.yes && !may_delete(options.id)) return kExitFailed;
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply = accepted(client->remove(path_of_session(options.id)));
    if (!reply) return report(reply.error());
    print_line(fmt::format("deleted {}; events and audit records of its calls stay",
                           printable(options.id)));
    return kExitOk;
}

}  // namespace crab::cli
