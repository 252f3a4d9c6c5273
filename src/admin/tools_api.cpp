#include "admin/tools_api.hpp"

#include "admin/query_number.hpp"
#include "admin/tool_wire.hpp"
#include "base/cut_text.hpp"
#include "base/token_estimate.hpp"
#include "json/value.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace crab::admin {
namespace {

constexpr std::size_t kBriefBytes = 120;

/// The first line of a description, or its beginning.
std::string_view brief_of(std::string_view description) {
    return cut_text(description.substr(0, description.find('\n')), kBriefBytes);
}

void append_row(json::Writer& writer, const ToolCatalog::Row& row) {
    writer.begin_object().key("name").string_lossy(row.name);
    writer.key("qualified_name").string_lossy(row.qualified_name);
    writer.key("source").string(row.source).key("state").string(row.state);
    if (!row.reason.empty()) writer.key("reason").string_lossy(row.reason);
    if (const core::ToolRef tool = row.tool.lock()) {
        const core::ToolSpec& spec = tool->spec;
        if (!spec.title.empty()) writer.key("title").string(spec.title);
        writer.key("brief").string(brief_of(spec.description));
        writer.key("effects").string(core::name_of(spec.effects()));
        const std::size_t bytes =
            row.name.size() + spec.description.size() + spec.input_schema.size();
        writer.key("tokens").unsigned_integer(estimated_tokens(bytes));
    }
    writer.end_object();
}

/// `[{pointer,keyword,message}]` of the violations that a check found.
void append_violations(json::Writer& writer, const core::CheckedCall& checked) {
    using Names = std::pair<std::string_view, std::string_view>;
    static constexpr std::array kMembers{Names("pointer", "pointer"), Names("rule", "keyword"),
                                         Names("message", "message")};
    writer.key("errors").begin_array();
    const auto found = json::Value::parse(checked.violations);
    if (const auto* errors = found ? found->as_array() : nullptr) {
        for (const json::Value& error : *errors) {
            writer.begin_object();
            for (const auto& [from, to] : kMembers)
                if (const json::Value* const value = error.find(from))
                    writer.key(to).raw(value->dump());
            writer.end_object();
        }
    }
    writer.end_array();
}

void append_refusal(json::Writer& writer, const Error& refusal) {
    writer.key("refusal").begin_object().key("code").string(token_of(refusal.code));
    writer.key("message").string_lossy(refusal.message).end_object();
    const auto details = json::Value::parse(refusal.details);
    if (const json::Value* const choices = details ? details->find("choices") : nullptr)
        writer.key("choices").raw(choices->dump());
}

void append_checked(json::Writer& writer, const core::CheckedCall& checked) {
    writer.begin_object().key("valid").boolean(checked.valid);
    append_violations(writer, checked);
    if (checked.decision) {
        writer.key("verdict").string(core::name_of(checked.decision->verdict));
        writer.key("rule").string_lossy(checked.decision->rule);
    }
    writer.key("approval").boolean(checked.needs_approval);
    if (checked.tool) {
        writer.key("tool").string(checked.tool->unique_name);
        writer.key("effects").string(core::name_of(checked.tool->spec.effects()));
    }
    if (!checked.hooks.empty()) {
        writer.key("hooks").begin_array();
        for (const std::string& hook : checked.hooks) writer.string_lossy(hook);
        writer.end_array();
    }
    if (checked.refusal) append_refusal(writer, *checked.refusal);
    writer.end_object();
}

}  // namespace

void ToolsApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/tools",
                .summary = "All tools, with what is known of them; or pages of brief rows",
                .query = {{"view", "brief: rows without schemas, a page of them; else all, whole"},
                          {"q", "of a page: words in name, title or description; or a glob"},
                          {"source", "of a page: such as device/phone, or a glob"},
                          {"state", "of a page: offered, ambiguous, held_back or rejected"},
                          {"offset", "of a page: how many of those that match come before it"},
                          {"limit", "of a page: how many rows; 200, at most 1000"}},
                .answers = {{200, "admin_tool_list"}},
                .refusals = {400}},
               [this](const Request& request) { list(request); });
    routes.add({.path = "/v1/admin/tools/{name}",
                .summary = "One tool, with everything that is known of it",
                .answers = {{200, "admin_tool"}},
                .refusals = {404, 409}},
               [this](const Request& request) { show(request); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/tools/check",
                .proof = net::FreshProof::kNever,
                .unrecorded = "asks, and changes nothing",
                .summary = "What would become of a call; nothing runs, and nothing is recorded",
                .request = "tool_check_request",
                .answers = {{200, "tool_check"}},
                .refusals = {400}},
               [this](const Request& request) { return check(request); });
}

void ToolsApi::list(const Request& request) {
    const auto view = net::find_query(request.exchange.request().query(), "view");
    if (!view) return list_all(request.exchange, *request.principal);
    if (*view == "brief") return page(request.exchange, *request.principal);
    request.exchange.respond_error(400, "INVALID_ARGS", "the only view is `brief`");
}

void ToolsApi::list_all(net::HttpExchange& exchange, const core::Principal& principal) {
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    writer.begin_object().key("tools").begin_array();
    for (const auto& [name, tool] : services_.sources.pipeline.list(principal)) {
        writer.begin_object();
        append_tool_members(writer, name, *tool);
        writer.end_object();
    }
    writer.end_array().end_object();
    exchange.finish_response();
}

void ToolsApi::page(net::HttpExchange& exchange, const core::Principal& principal) {
    const std::string_view query = exchange.request().query();
    const auto asked = [&](std::string_view name) {
        return net::find_query(query, name).value_or("");
    };
    const ToolCatalog::Question question{
        .text = asked("q"), .source = asked("source"), .state = asked("state")};
    const auto offset = number_in(query, "offset", 0), limit = number_in(query, "limit", kPageRows);
    if (!offset || !limit || question.text.size() > ToolCatalog::kLongestText ||
        question.source.size() > ToolCatalog::kLongestText)
        return exchange.respond_error(400, "INVALID_ARGS",
                                      "offset and limit are whole numbers; q and source have 256 "
                                      "bytes at most");
    catalog_.refresh(principal);
    const auto places = catalog_.find(question);
    const auto shown = places.subspan(std::min(*offset, places.size()));
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    writer.begin_object()
        .key("generation")
        .unsigned_integer(catalog_.generation())
        .key("total")
        .unsigned_integer(places.size())
        .key("tools")
        .begin_array();
    for (const auto place : shown.first(std::min({*limit, kMostRows, shown.size()})))
        append_row(writer, catalog_.row(place));
    writer.end_array().end_object();
    exchange.finish_response();
}

void ToolsApi::show(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const std::string& name = request.arguments["name"];
    const auto tool = services_.sources.pipeline.resolve(*request.principal, {}, name);
    catalog_.refresh(*request.principal);
    const ToolCatalog::Row* const row = catalog_.find_name(name);
    if (!tool && row == nullptr) return exchange.respond_error(tool.error());
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    if (!tool) {
        append_row(writer, *row);
        return exchange.finish_response();
    }
    writer.begin_object();
    append_tool_members(writer, row != nullptr ? row->name : name, **tool);
    writer.key("state").string(row != nullptr ? row->state : "offered");
    if (row != nullptr && !row->reason.empty()) writer.key("reason").string_lossy(row->reason);
    writer.end_object();
    exchange.finish_response();
}

Task<void> ToolsApi::check(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const auto root = parser_.parse(exchange.request().body);
    const auto tool = root ? json::get_string(root->element(), "tool") : std::nullopt;
    const auto as = root ? json::get_string(root->element(), "as") : std::nullopt;
    if (!tool) {
        exchange.respond_error(400, "INVALID_ARGS",
                               "the body must be a JSON object with `tool`, and may have `args` "
                               "and `as`");
        co_return;
    }
    const core::PrincipalRef principal = as ? services_.principals.find(*as) : request.principal;
    if (principal->roles.empty()) {
        exchange.respond_error(400, "INVALID_ARGS", kNoSuchPrincipal);
        co_return;
    }
    core::Call call;
    call.tool = *tool;
    call.args = root->raw_member("args").value_or("");
    const auto checked = co_await services_.checks.check(core::AuthenticatedCall(call, principal));
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    append_checked(writer, checked);
    exchange.finish_response();
}

}  // namespace crab::admin
