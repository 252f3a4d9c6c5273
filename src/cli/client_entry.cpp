#include "cli/client_config.hpp"
#include "cli/output/pretty_json.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

using json::Value;

constexpr std::string_view kName = "crab";

Value texts(std::vector<std::string>::const_iterator from,
            std::vector<std::string>::const_iterator to) {
    Value out = Value::array();
    for (; from != to; ++from) out.push_back(*from);
    return out;
}

/// The token is of the person, in the environment of the client.
Value with_token(Value entry, std::string_view reference) {
    entry.set("headers", Value::object({{"Authorization", fmt::format("Bearer {}", reference)}}));
    return entry;
}

Value remote_entry(ClientKind client, const std::string& url) {
    switch (client) {
        case ClientKind::kVsCode:
        case ClientKind::kCursor: {
            Value entry = Value::object({{"url", url}});
            if (client == ClientKind::kVsCode) entry.set("type", "http");
            return with_token(std::move(entry), "${env:CRAB_TOKEN}");
        }
        case ClientKind::kClaudeCode:
            return with_token(Value::object({{"type", "http"}, {"url", url}}), "${CRAB_TOKEN}");
        case ClientKind::kWindsurf:
            return with_token(Value::object({{"serverUrl", url}}), "${env:CRAB_TOKEN}");
        case ClientKind::kGemini:
            return with_token(Value::object({{"httpUrl", url}}), "$CRAB_TOKEN");
        case ClientKind::kOpencode:
            return with_token(Value::object({{"type", "remote"}, {"url", url}, {"enabled", true}}),
                              "{env:CRAB_TOKEN}");
        case ClientKind::kZed:  // reads no variables
            return with_token(Value::object({{"url", url}}), kTokenToFillIn);
        case ClientKind::kClaudeDesktop:
        case ClientKind::kCodex: break;
    }
    return Value::object({{"url", url}});
}

Value entry_of(ClientKind client, const GatewayEntry& entry) {
    if (!entry.url.empty()) return remote_entry(client, entry.url);
    if (client == ClientKind::kOpencode)
        return Value::object({{"type", "local"},
                              {"command", texts(entry.argv.begin(), entry.argv.end())},
                              {"enabled", true}});
    Value made = Value::object();
    if (client == ClientKind::kVsCode || client == ClientKind::kClaudeCode ||
        client == ClientKind::kCursor)
        made.set("type", "stdio");
    if (client == ClientKind::kZed) made.set("source", "custom");
    made.set("command", entry.argv.front());
    made.set("args", texts(entry.argv.begin() + 1, entry.argv.end()));
    return made;
}

/// Codex's file is written by people: the entry goes to its end, and nothing else is touched.
Result<std::string> with_toml_entry(std::string_view before, const GatewayEntry& entry) {
    const auto read = read_toml(before);
    if (!read) return fail(read.error());
    const Value* const servers = read->find("mcp_servers");
    if (servers != nullptr && servers->find(kName) != nullptr)
        return fail(ErrorCode::kInvalidArgs,
                    "the file has [mcp_servers.crab] already; remove it first");
    std::string text(before);
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += fmt::format("{}[mcp_servers.crab]\n", text.empty() ? "" : "\n");
    if (!entry.url.empty())
        return text + fmt::format("url = {}\nbearer_token_env_var = \"CRAB_TOKEN\"\n",
                                  Value(entry.url).dump());
    return text + fmt::format("command = {}\nargs = {}\n", Value(entry.argv.front()).dump(),
                              texts(entry.argv.begin() + 1, entry.argv.end()).dump());
}

std::string_view root_in_file(ClientKind client) {
    switch (client) {
        case ClientKind::kVsCode: return "servers";
        case ClientKind::kZed: return "context_servers";
        case ClientKind::kOpencode: return "mcp";
        case ClientKind::kCodex: return "mcp_servers";
        case ClientKind::kClaudeDesktop:
        case ClientKind::kClaudeCode:
        case ClientKind::kCursor:
        case ClientKind::kWindsurf:
        case ClientKind::kGemini: break;
    }
    return "mcpServers";
}

}  // namespace

Result<std::string> with_gateway(ClientKind client, std::string_view before,
                                 const GatewayEntry& entry) {
    if (client == ClientKind::kClaudeDesktop && !entry.url.empty())
        return fail(ErrorCode::kInvalidArgs, "this client only starts programs: leave out --at");
    if (client == ClientKind::kCodex) return with_toml_entry(before, entry);
    const bool empty = before.find_first_not_of(" \t\r\n") == std::string_view::npos;
    auto document = empty ? Result<Value>(Value::object()) : Value::parse(without_comments(before));
    if (!document) return fail(std::move(document.error()));
    if (!document->is_object()) return fail(ErrorCode::kInvalidArgs, "the file is no JSON object");
    const std::string_view root = root_in_file(client);
    Value* servers = document->find(root);
    if (servers == nullptr) servers = &document->set(root, Value::object());
    if (Value* const inner = servers->find("servers");
        client == ClientKind::kOpencode && inner != nullptr && inner->find("type") == nullptr)
        servers = inner;  // since its version 2
    if (!servers->is_object())
        return fail(ErrorCode::kInvalidArgs, fmt::format("{} of the file is no object", root));
    servers->set(kName, entry_of(client, entry));
    return pretty(*document) + "\n";
}

}  // namespace crab::cli
