#include "base/process/file.hpp"
#include "cli/admin_client.hpp"
#include "cli/client_config.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOrigin = "crab mcp import ";
constexpr std::string_view kAddedServers = "/v1/mcp/servers";

std::optional<std::string> answer_to(std::string_view question) {
    fmt::print(stderr, "{} ", printable(question));
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
}

ImportContext context_of(const McpImport& options, const fs::path& file) {
    ImportContext context;
    context.environment = config::process_environment();
    context.home = context.environment("HOME").value_or("/");
    context.workspace = fs::current_path();
    // Folders such as .vscode are inside of the workspace.
    const fs::path folder = fs::absolute(file).parent_path();
    if (folder.filename().native().starts_with('.') && folder.has_parent_path())
        context.workspace = folder.parent_path();
    context.ask = [yes = options.yes](std::string_view id,
                                      std::string_view about) -> std::optional<std::string> {
        if (yes) return std::nullopt;
        auto value = answer_to(fmt::format("{} ({}):", about, id));
        return value && !value->empty() ? value : std::nullopt;
    };
    context.read_file = [workspace = context.workspace](const fs::path& path) {
        return crab::read_file(path.is_absolute() ? path : workspace / path);
    };
    return context;
}

Result<fs::path> file_of(const McpImport& options) {
    if (!options.file.empty()) return options.file;
    const auto client = find_client(options.from);
    if (!client)
        return fail(ErrorCode::kInvalidArgs, "name a file, or whose it is with --from CLIENT");
    const auto places =
        files_of(*client, fs::current_path(), config::process_environment()("HOME").value_or("/"));
    std::error_code ignored;
    for (const fs::path& place : places) {
        if (fs::exists(place, ignored)) return place;
    }
    return fail(ErrorCode::kNotFound, fmt::format("{} has no file at {}; name it", options.from,
                                                  places.front().string()));
}

/// One server of the plan: the whole of what would run, names of variables without their values.
void print_plan(const ImportedServer& server) {
    const json::Value& made = server.server;
    print_line(Terminal::out().paint(
        Colour::kBold, printable(server.name.empty() ? server.in_file : server.name)));
    if (made.is_null()) {
        print_line("  left out: " + printable(server.notes.front()));
        return;
    }
    std::string place = text_of(made, "url");
    if (place.empty()) {
        place = text_of(made, "command");
        for (const json::Value& arg : items_of(made, "args"))
            place += " " + (arg.as_string() ? arg.dump() : "");
    }
    print_line("  " + printable(place));
    const auto names = [](std::string_view title, const json::Value* table) {
        std::string text;
        if (table == nullptr || table->as_object() == nullptr) return;
        for (const auto& [name, _] : *table->as_object()) text += " " + name;
        print_line(fmt::format("  {}:{}", title, printable(text)));
    };
    names("environment", made.find("env"));
    if (const json::Value* const auth = made.find("auth"))
        names("headers, kept as secrets", auth->find("headers"));
    if (!text_of(made, "cwd").empty()) print_line("  in " + printable(text_of(made, "cwd")));
    for (const std::string& use : server.uses) print_line("  gets " + printable(use));
    if (made.find("enabled") != nullptr) print_line("  not enabled there, nor here");
    for (const std::string& note : server.notes) print_line("  note: " + printable(note));
}

/// What `crab mcp export` writes: with that behind it a gateway would call itself.
bool is_of_a_gateway(const ImportedServer& server) {
    const json::Value& made = server.server;
    if (!text_of(made, "url").empty()) return server.in_file == "crab";
    const auto& args = items_of(made, "args");
    const auto is = [&](std::size_t at, std::string_view word) {
        return at < args.size() && args[at].as_string() != nullptr && *args[at].as_string() == word;
    };
    return fs::path(text_of(made, "command")).filename() == "crab" && is(0, "mcp") &&
           is(1, "stdio");
}

void leave_out_gateways(std::vector<ImportedServer>& servers) {
    for (ImportedServer& server : servers) {
        if (!is_of_a_gateway(server)) continue;
        server.server = json::Value();
        server.name.clear();
        server.notes = {"it is what crab mcp export writes; crab mcp add takes another gateway"};
    }
}

/// Names that the gateway has become `-2`.
void avoid(std::vector<ImportedServer>& servers, const json::Value& known) {
    std::set<std::string, std::less<>> taken;
    for (const json::Value& one : items_of(known, "servers")) taken.insert(text_of(one, "name"));
    for (ImportedServer& server : servers) {
        const std::string base = server.name;
        for (int i = 2; !base.empty() && !taken.insert(server.name).second; ++i)
            server.name = fmt::format("{}-{}", base, i);
    }
}

int undo(AdminClient& client) {
    const auto known = accepted(client.get(std::string(kAddedServers)));
    if (!known) return report(known.error());
    std::string latest;  // an origin ends with the time, which sorts as text
    const auto time_of = [](const std::string& origin) {
        return origin.substr(origin.rfind(' ') + 1);
    };
    for (const json::Value& server : items_of(*known, "servers")) {
        const std::string origin = text_of(server, "origin");
        if (origin.starts_with(kOrigin) && (latest.empty() || time_of(latest) < time_of(origin)))
            latest = origin;
    }
    if (latest.empty()) {
        print_line("No import is left to undo.");
        return kExitOk;
    }
    for (const json::Value& server : items_of(*known, "servers")) {
        if (text_of(server, "origin") != latest) continue;
        const std::string name = text_of(server, "name");
        const auto removed =
            accepted(client.remove(fmt::format("{}/{}", kAddedServers, net::percent_encode(name))));
        if (!removed) return report(removed.error());
        print_line(printable(fmt::format("{} is removed", name)));
    }
    return kExitOk;
}

int add_all(AdminClient& client, const std::vector<ImportedServer>& servers,
            const std::string& whose) {
    const std::string origin =
        fmt::format("{}{} {}", kOrigin, whose, to_rfc3339(RealClock().system_now()));
    int exit_code = kExitOk;
    for (const ImportedServer& server : servers) {
        if (server.server.is_null()) continue;
        const auto added = accepted(client.post(
            std::string(kAddedServers),
            json::Value::object(
                {{"name", server.name}, {"server", server.server}, {"origin", origin}})));
        if (added) {
            print_line(printable(fmt::format("{} is added", server.name)));
        } else {
            complain(printable(fmt::format("{}: {}", server.name, added.error().message)));
            exit_code = exit_code_of(added.error().code);
        }
    }
    print_line("crab mcp import --undo takes them back.");
    return exit_code;
}

}  // namespace

int run(const McpImport& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    if (options.undo) return undo(*client);
    const auto file = file_of(options);
    if (!file) return report(file.error());
    const auto text = crab::read_file(*file);
    if (!text) return report(text.error());
    auto servers = read_client_file(find_client(options.from), *text, context_of(options, *file));
    if (!servers)
        return report(fail(servers.error().code,
                           fmt::format("{}: {}", file->string(), servers.error().message))
                          .error());
    leave_out_gateways(*servers);
    const auto known = accepted(client->get(std::string(kAddedServers)));
    if (!known) return report(known.error());
    avoid(*servers, *known);
    for (const ImportedServer& server : *servers) print_plan(server);
    if (std::ranges::all_of(*servers, [](const auto& one) { return one.server.is_null(); }))
        return report(fail(ErrorCode::kInvalidArgs, "there is nothing to add").error());
    if (!options.yes) {
        std::fflush(stdout);
        const auto answer = answer_to("Add them to the gateway, which then runs these? [y/N]");
        if (!answer || (*answer != "y" && *answer != "yes")) {
            complain("nothing was added");
            return kExitRefused;
        }
    }
    return add_all(*client, *servers,
                   options.from.empty() ? file->filename().string() : options.from);
}

}  // namespace crab::cli
