#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
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
    return show_done(*reply, options.output, options.who,
                     options.worktree.empty()
                         ? fmt::format("{} is bound no longer", options.who)
                         : fmt::format("{} works in {}", options.who, options.worktree));
}

int run(const WorktreeStatus& options) {
    const auto listing = [](const json::Value& answer) {
        const auto bound = [&answer](const json::Value& worktree) {
            std::string all;
            for (const json::Value& binding : items_of(answer, "bindings")) {
                if (text_of(binding, "worktree") == text_of(worktree, "id"))
                    all += (all.empty() ? "" : " ") + text_of(binding, "who");
            }
            return all;
        };
        const auto writable = [](const json::Value& worktree) {
            return flag_of(worktree, "read_only") ? "" : "yes";
        };
        return Listing{
            .members = {"worktrees"},
            .name = by_member("id"),
            .columns = {column("WORKTREE", "id"),
                        column("PATH", "path"),
                        {"WRITABLE", writable},
                        {"BOUND", bound}},
            .empty = "No worktrees. Name some under worktrees: in the gateway's configuration."};
    };
    return show_list([&] { return fetch(options.target, "/v1/admin/worktrees"); }, listing,
                     options.output);
}

}  // namespace crab::cli
