#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "net/codec/url.hpp"

#include <fmt/format.h>

namespace crab::cli {

int run(const WorktreeBind& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const std::string target =
        options.worktree.empty()
            ? fmt::format("/v1/admin/worktrees/unbind?who={}", net::percent_encode(options.who))
            : fmt::format("/v1/admin/worktrees/bind?who={}&worktree={}",
                          net::percent_encode(options.who), net::percent_encode(options.worktree));
    const Result<json::Value> reply = accepted(client->post(target, json::Value::object()));
    if (!reply) return report(reply.error());
    print_line(printable(options.worktree.empty()
                             ? fmt::format("{} is bound no longer", options.who)
                             : fmt::format("{} works in {}", options.who, options.worktree)));
    return kExitOk;
}

int run(const WorktreeStatus& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const Result<json::Value> reply = accepted(client->get("/v1/admin/worktrees"));
    if (!reply) return report(reply.error());
    if (options.output == Output::kJson) return print_json(*reply), kExitOk;
    Table table({"WORKTREE", "PATH", "WRITABLE", "BOUND"});
    for (const json::Value& worktree : items_of(*reply, "worktrees")) {
        std::string bound;
        for (const json::Value& binding : items_of(*reply, "bindings")) {
            if (text_of(binding, "worktree") == text_of(worktree, "id"))
                bound += (bound.empty() ? "" : " ") + text_of(binding, "who");
        }
        table.add({text_of(worktree, "id"), text_of(worktree, "path"),
                   flag_of(worktree, "read_only") ? "" : "yes", bound});
    }
    if (table.empty())
        print_line("No worktrees. Name some under worktrees: in the gateway's configuration.");
    else
        print(table.to_text(Terminal::out()));
    return kExitOk;
}

}  // namespace crab::cli
