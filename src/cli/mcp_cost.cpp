#include "cli/mcp_cost.hpp"

#include "base/token_estimate.hpp"
#include "cli/admin_client.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::string_view kVersion = "2026-07-28";
constexpr int kMostPages = 1000;

struct Listed {
    std::vector<std::pair<std::size_t, std::string>> tools;  ///< tokens, name
    std::size_t tokens = 0;
    json::Value search;  ///< `crab/search` of the list; null: it shows all
};

json::Value request_for(const std::string& cursor) {
    const json::Value meta = json::Value::object(
        {{"io.modelcontextprotocol/protocolVersion", std::string(kVersion)},
         {"io.modelcontextprotocol/clientCapabilities", json::Value::object()}});
    json::Value params = json::Value::object({{"_meta", meta}});
    if (!cursor.empty()) params.set("cursor", cursor);
    return json::Value::object(
        {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/list"}, {"params", params}});
}

Result<Listed> list(const ToolsCost& options) {
    auto client = AdminClient::make(options.target);
    if (!client) return fail(std::move(client.error()));
    client->add_header("MCP-Protocol-Version", std::string(kVersion));
    client->add_header("Mcp-Method", "tools/list");
    const std::string path =
        options.scope.empty() ? "/mcp" : "/mcp/" + net::percent_encode(options.scope);
    Listed listed;
    std::string cursor;
    for (int page = 0; page < kMostPages; ++page) {
        const auto reply = client->post(path, request_for(cursor));
        if (!reply) return fail(reply.error());
        if (const json::Value* const error = reply->body.find("error"))
            return fail(reply->status == 404 ? ErrorCode::kNotFound : ErrorCode::kInternal,
                        text_of(*error, "message"));
        const json::Value* const result = reply->body.find("result");
        if (result == nullptr)
            return fail(ErrorCode::kUnavailable,
                        fmt::format("the gateway does not serve MCP (HTTP {})", reply->status));
        for (const json::Value& tool : items_of(*result, "tools")) {
            const std::size_t tokens = estimated_tokens(tool.dump().size());
            listed.tokens += tokens;
            listed.tools.emplace_back(tokens, text_of(tool, "name"));
        }
        const json::Value* const meta = result->find("_meta");
        const json::Value* const search = meta != nullptr ? meta->find("crab/search") : nullptr;
        if (search != nullptr) listed.search = *search;
        cursor = text_of(*result, "nextCursor");
        if (cursor.empty()) return listed;
    }
    return fail(ErrorCode::kInternal, "the list of tools does not end");
}

json::Value as_json(const Listed& listed) {
    json::Value tools = json::Value::array();
    for (const auto& [tokens, name] : listed.tools)
        tools.push_back(
            json::Value::object({{"name", name}, {"tokens", static_cast<std::int64_t>(tokens)}}));
    json::Value out = json::Value::object(
        {{"tools", tools}, {"tokens", static_cast<std::int64_t>(listed.tokens)}});
    if (!listed.search.is_null()) out.set("search", listed.search);
    return out;
}

}  // namespace

int show_mcp_cost(const ToolsCost& options) {
    auto listed = list(options);
    if (!listed) return report(listed.error());
    std::ranges::sort(listed->tools, [](const auto& a, const auto& b) {
        return std::tie(b.first, a.second) < std::tie(a.first, b.second);
    });
    if (!options.output.is_text()) return show_value(as_json(*listed), options.output);
    Table table({"TOKENS", "TOOL"});
    for (const auto& [tokens, name] : listed->tools) table.add({fmt::format("{}", tokens), name});
    if (!table.empty()) print(table.to_text(Terminal::out()));
    const std::string path = options.scope.empty() ? "/mcp" : "/mcp/" + printable(options.scope);
    print_line(fmt::format("{}{} lists {} tools, about {} tokens for a model that is shown all.",
                           table.empty() ? "" : "\n", path, listed->tools.size(), listed->tokens));
    if (listed->search.is_null()) return kExitOk;
    print_line(
        fmt::format("They stand for {} tools of about {} tokens, which exceed the budget "
                    "and are searched for with find_tools.",
                    number_of(listed->search, "tools"), number_of(listed->search, "tokens")));
    return kExitOk;
}

}  // namespace crab::cli
