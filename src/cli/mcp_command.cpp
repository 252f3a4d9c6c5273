#include "base/ascii.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/mcp_shown.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::string_view kServers = "/v1/mcp/servers";
constexpr std::string_view kNoServers =
    "No MCP servers. Add one with crab mcp add, or those of a client with crab mcp import.";

std::string path_of(std::string_view name, std::string_view rest = {}) {
    return fmt::format("{}/{}{}", kServers, net::percent_encode(name), rest);
}

/// The program with its arguments, or the URL.
std::string address_of_server(const json::Value& server) {
    std::string text = text_of(server, "url");
    for (const json::Value& word : items_of(server, "argv"))
        text += (text.empty() ? "" : " ") + (word.as_string() ? *word.as_string() : "");
    return text;
}

void print_details(const json::Value& server) {
    const auto line = [&](std::string_view title, const std::string& text) {
        if (!text.empty()) print_line(fmt::format("  {:<11} {}", title, printable(text)));
    };
    print_line(Terminal::out().paint(Colour::kBold, printable(text_of(server, "name"))));
    line("state", text_of(server, "state"));
    line(server.find("url") != nullptr ? "url" : "command", address_of_server(server));
    line("from", flag_of(server, "configured") ? "the configuration" : text_of(server, "origin"));
    line("server", text_of(server, "server"));
    line("revision", text_of(server, "version"));
    line("offers", fmt::format("{} tools, {} resources, {} prompts", number_of(server, "tools"),
                               number_of(server, "resources"), number_of(server, "prompts")));
    if (number_of(server, "held") > 0)
        line("waiting", fmt::format("{} for approval; see crab mcp diff {}",
                                    number_of(server, "held"), text_of(server, "name")));
    if (number_of(server, "removed") > 0)
        line("cleaned", fmt::format("{} characters that nobody sees, in descriptions of tools",
                                    number_of(server, "removed")));
    if (number_of(server, "off_schema") > 0)
        line("off schema",
             fmt::format("{} results broke their tool's output schema and were "
                         "passed on, the last one of {}",
                         number_of(server, "off_schema"), text_of(server, "off_schema_tool")));
    if (number_of(server, "dropped") > 0)
        line("dropped", fmt::format("{} messages that nobody had asked for, or could answer",
                                    number_of(server, "dropped")));
    for (const json::Value& left : items_of(server, "left_out"))
        line("left out", fmt::format("{}: {}", text_of(left, "name"), text_of(left, "reason")));
    line("error", text_of(server, "error"));
    if (const std::string said = text_of(server, "stderr"); !said.empty())
        print_line("  it said:\n" + printable(said, Lines::kKeep));
}

/// `NAME=VALUE`, or `NAME` for the value of this process. Errors: kInvalidArgs.
Result<json::Value> environment_of(const std::vector<std::string>& given) {
    json::Value env = json::Value::object();
    for (const std::string& one : given) {
        const std::size_t at = one.find('=');
        const std::string name = one.substr(0, at);
        const char* const own = ::getenv(name.c_str());
        if (at == std::string::npos && own == nullptr)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{} is not set here; write {}=VALUE", name, name));
        env.set(name, at == std::string::npos ? std::string(own) : one.substr(at + 1));
    }
    return env;
}

Result<json::Value> headers_of(const std::vector<std::string>& given) {
    json::Value headers = json::Value::object();
    for (const std::string& one : given) {
        const std::size_t at = one.find(':');
        if (at == std::string::npos || at == 0)
            return fail(ErrorCode::kInvalidArgs, "--header has the form 'NAME: VALUE'");
        headers.set(one.substr(0, at),
                    one.substr(std::min(one.find_first_not_of(' ', at + 1), one.size())));
    }
    return headers;
}

bool is_url(std::string_view text) {
    return equals_lower(text.substr(0, 7), "http://") ||
           equals_lower(text.substr(0, 8), "https://");
}

json::Value sandbox_of(const McpAdd& options) {
    json::Value sandbox = json::Value::object();
    const auto set_paths = [&](const char* key, const std::vector<std::string>& given) {
        json::Value paths = json::Value::array();
        for (const std::string& path : given)
            paths.push_back(std::filesystem::absolute(path).lexically_normal().string());
        if (!given.empty()) sandbox.set(key, std::move(paths));
    };
    set_paths("read", options.read);
    set_paths("write", options.write);
    if (!options.network.empty()) sandbox.set("network", options.network);
    if (!options.privilege.empty()) sandbox.set("privilege", options.privilege);
    if (options.memory_bytes > 0)
        sandbox.set("memory_bytes", static_cast<std::int64_t>(options.memory_bytes));
    return sandbox;
}

/// The server as under `mcp.servers`.
Result<json::Value> server_of(const McpAdd& options) {
    json::Value server = json::Value::object();
    if (options.what.size() == 1 && is_url(options.what[0])) {
        server.set("url", options.what[0]);
        auto headers = headers_of(options.headers);
        if (!headers) return headers;
        json::Value auth = json::Value::object();
        if (!options.headers.empty()) auth.set("headers", std::move(*headers));
        if (options.allow_plain) auth.set("allow_plain", true);
        if (!auth.as_object()->empty()) server.set("auth", std::move(auth));
    } else {
        server.set("command", options.what[0]);
        json::Value args = json::Value::array();
        for (std::size_t i = 1; i < options.what.size(); ++i) args.push_back(options.what[i]);
        server.set("args", std::move(args));
    }
    auto env = environment_of(options.env);
    if (!env) return env;
    if (!options.env.empty()) server.set("env", std::move(*env));
    if (!options.cwd.empty())
        server.set("cwd", std::filesystem::absolute(options.cwd).lexically_normal().string());
    if (options.sandbox) server.set("sandbox", sandbox_of(options));
    if (!options.era.empty()) server.set("era", options.era);
    return server;
}

/// What an approval names.
json::Value named(const json::Value& change) {
    return json::Value::object({{"kind", text_of(change, "kind")},
                                {"name", text_of(change, "name")},
                                {"digest", text_of(change, "digest")}});
}

void print_changes(const json::Value& reply, const std::string& server) {
    if (items_of(reply, "changes").empty()) {
        print_line("Nothing waits for an approval.");
        return;
    }
    for (const json::Value& change : items_of(reply, "changes")) {
        const std::string before = text_of(change, "before"), after = text_of(change, "after");
        print_line(Terminal::out().paint(
            Colour::kBold,
            printable(fmt::format("{} {} ({})", text_of(change, "kind"), text_of(change, "name"),
                                  text_of(change, "why")))));
        if (!before.empty()) print_line("- " + printable(before));
        if (!after.empty()) print_line("+ " + printable(after));
    }
    print_line(printable(fmt::format("\ncrab mcp approve {} approves them.", server)));
}

/// Those of `shown` that the command names, or all. Errors: kNotFound.
Result<json::Value::Items> chosen_of(const json::Value::Items& shown, const McpApprove& options) {
    if (options.entries.empty()) return shown;
    json::Value::Items chosen;
    for (const std::string& name : options.entries) {
        const std::size_t before = chosen.size();
        for (const json::Value& entry : shown) {
            if (text_of(entry, "name") == name) chosen.push_back(entry);
        }
        if (chosen.size() == before)
            return fail(ErrorCode::kNotFound,
                        fmt::format("{} was not shown by crab mcp diff {}", name, options.name));
    }
    return chosen;
}

}  // namespace

int run(const McpStatus& options) {
    const Result<json::Value> reply = fetch(options.target, std::string(kServers));
    if (!reply) return report(reply.error());
    json::Value::Items servers;
    for (const json::Value& server : items_of(*reply, "servers")) {
        if (options.name.empty() || text_of(server, "name") == options.name)
            servers.push_back(server);
    }
    if (servers.empty() && !options.name.empty())
        return report(
            fail(ErrorCode::kNotFound,
                 fmt::format("there is no MCP server {}; crab mcp list shows them", options.name))
                .error());
    const json::Value shown = json::Value::object({{"servers", json::Value::array(servers)}});
    if (options.details) {
        if (!options.output.is_text()) return show_value(shown, options.output);
        if (servers.empty()) print_line(kNoServers);
        for (const json::Value& server : servers) print_details(server);
        return kExitOk;
    }
    static const Listing kServerList{
        .members = {"servers"},
        .name = by_member("name"),
        .columns = {column("SERVER", "name"),
                    column("STATE", "state"),
                    column("TOOLS", "tools"),
                    {"WAITING",
                     [](const json::Value& server) {
                         const std::int64_t held = number_of(server, "held");
                         return held == 0 ? std::string() : fmt::format("{}", held);
                     }},
                    {"COMMAND OR URL", address_of_server},
                    wide_column("ERROR", "error")},
        .empty = std::string(kNoServers)};
    return show_list(shown, kServerList, options.output);
}

int run(const McpAdd& options) {
    auto server = server_of(options);
    if (!server) return report(server.error());
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const json::Value body = json::Value::object(
        {{"name", options.name}, {"server", std::move(*server)}, {"origin", "crab mcp add"}});
    auto reply = accepted(client->post(std::string(kServers), body));
    if (options.replace && !reply && reply.error().code == ErrorCode::kConflict)
        reply = accepted(client->put(path_of(options.name), body));
    if (!reply) return report(reply.error());
    return show_done(*reply, options.output, options.name,
                     fmt::format("{} is added; crab mcp status {} shows how it does", options.name,
                                 options.name));
}

int run(const McpRemove& options) {
    if (!may_go_on(options.yes,
                   fmt::format("Remove the MCP server {} and its secrets?", options.name)))
        return kExitFailed;
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply = accepted(client->remove(path_of(options.name)));
    if (!reply) return report(reply.error());
    return show_done(*reply, options.output, options.name,
                     fmt::format("{} is removed", options.name));
}

int run(const McpDiff& options) {
    const Result<json::Value> reply = fetch(options.target, path_of(options.name, "/diff"));
    if (!reply) return report(reply.error());
    json::Value::Items shown;
    for (const json::Value& change : items_of(*reply, "changes")) shown.push_back(named(change));
    int code = kExitOk;
    if (!options.output.is_text())
        code = show_value(*reply, options.output);
    else
        print_changes(*reply, options.name);
    if (const auto kept = keep_shown(options.name, std::move(shown)); !kept)
        complain("crab mcp approve will not know that this was shown: " + kept.error().message);
    return code;
}

int run(const McpApprove& options) {
    const auto shown = find_shown(options.name);
    if (!shown)
        return report(fail(ErrorCode::kConflict,
                           fmt::format("look at what would be approved first: crab mcp diff {}",
                                       options.name))
                          .error());
    auto chosen = chosen_of(*shown, options);
    if (!chosen) return report(chosen.error());
    if (chosen->empty()) {
        print_line("Nothing waits for an approval.");
        return kExitOk;
    }
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply =
        accepted(client->post(path_of(options.name, "/approve"),
                              json::Value::object({{"entries", json::Value::array(*chosen)}})));
    if (!reply) return report(reply.error());
    json::Value::Items left;
    for (const json::Value& entry : *shown) {
        if (std::ranges::find(*chosen, entry) == chosen->end()) left.push_back(entry);
    }
    if (const auto kept = keep_shown(options.name, std::move(left)); !kept)
        complain(kept.error().message);
    return show_done(*reply, options.output, options.name,
                     fmt::format("{} approved", items_of(*reply, "approved").size()));
}

}  // namespace crab::cli
