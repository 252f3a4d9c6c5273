#include "admin/mcp_api.hpp"

#include "json/writer.hpp"
#include "net/codec/url.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace crab::admin {
namespace {

void respond(net::HttpExchange& exchange, const json::Value& body) {
    exchange.respond(200, "application/json", body.dump());
}

json::Value texts(const std::vector<std::string>& all) {
    json::Value out = json::Value::array();
    for (const std::string& text : all) out.push_back(text);
    return out;
}

std::int64_t number(std::size_t count) { return static_cast<std::int64_t>(count); }

void set_state(json::Value& out, const McpServerState& state) {
    out.set("state", state.state);
    out.set("version", state.version);
    out.set("server", state.server);
    out.set("tools", number(state.tools));
    out.set("resources", number(state.resources));
    out.set("prompts", number(state.prompts));
    out.set("held", number(state.held));
    out.set("removed", number(state.removed));
    json::Value left_out = json::Value::array();
    for (const auto& one : state.left_out)
        left_out.push_back(json::Value::object({{"name", one.name}, {"reason", one.reason}}));
    out.set("left_out", std::move(left_out));
    out.set("off_schema", number(state.off_schema));
    if (!state.off_schema_tool.empty()) out.set("off_schema_tool", state.off_schema_tool);
    out.set("dropped", number(state.dropped));
    if (!state.error.empty()) out.set("error", state.error);
    if (!state.stderr_tail.empty()) out.set("stderr", state.stderr_tail);
}

json::Value shown(const KnownMcpServer& server, const McpServerState* state) {
    json::Value out = json::Value::object({{"name", server.name}});
    if (server.url.empty()) {
        out.set("argv", texts(server.argv));
    } else {
        out.set("url", server.url);
    }
    out.set("configured", server.configured);
    out.set("origin", server.origin);
    McpServerState none;
    none.state = !server.problem.empty() ? "failing" : server.enabled ? "stopped" : "disabled";
    none.error = server.problem;
    set_state(out, state != nullptr ? *state : none);
    return out;
}

/// The body, an object. Answers the request itself when it is none.
std::optional<json::Value> body_of(net::HttpExchange& exchange) {
    const std::string_view text = exchange.request().body;
    auto body = json::Value::parse(text.empty() ? "{}" : text);
    if (body && body->is_object()) return std::move(*body);
    exchange.respond_error(400, "INVALID_ARGS", "the body has to be a JSON object");
    return std::nullopt;
}

std::unexpected<Error> wrong_approval() {
    return fail(ErrorCode::kInvalidArgs,
                "say in `entries` what is approved: kind, name and digest of each, as diff has "
                "shown them");
}

/// Nobody approves what was not shown: each entry is named with the digest that was shown with it.
Result<std::vector<McpApproval>> approvals_of(const json::Value& body) {
    std::vector<McpApproval> entries;
    const json::Value* const given = body.find("entries");
    if (given != nullptr && given->as_array() != nullptr) {
        for (const json::Value& one : *given->as_array()) {
            McpApproval entry{one.text("kind"), one.text("name"), one.text("digest")};
            if (entry.kind.empty() || entry.digest.empty()) return wrong_approval();
            entries.push_back(std::move(entry));
        }
    }
    if (entries.empty()) return wrong_approval();
    return entries;
}

}  // namespace

void McpApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/v1/mcp/servers",
                .summary = "The MCP servers whose tools are offered on, and how they do",
                .answers = {{200, "mcp_server_list"}}},
               [this](const Request& request) { return list(request.exchange); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/mcp/servers",
                .summary = "Add an MCP server",
                .request = "mcp_server_addition",
                .answers = {{200, "mcp_server_changed"}},
                .refusals = {400, 409, 503}},
               [this](const Request& request) {
                   return put(request.exchange, {}, McpServerConfigs::Put::kNew);
               });
    routes.add({.method = net::Method::kPut,
                .path = "/v1/mcp/servers/{name}",
                .summary = "Put another MCP server in the place of one that was added",
                .request = "mcp_server_addition",
                .answers = {{200, "mcp_server_changed"}},
                .refusals = {400, 404, 409, 503}},
               [this](const Request& request) {
                   return put(request.exchange, std::string(request.arguments["name"]),
                              McpServerConfigs::Put::kReplace);
               });
    routes.add({.method = net::Method::kDelete,
                .path = "/v1/mcp/servers/{name}",
                .proof = net::FreshProof::kNever,
                .summary = "Remove an MCP server that was added, and its secrets",
                .answers = {{200, "mcp_server_changed"}},
                .refusals = {404, 409, 503}},
               [this](const Request& request) {
                   return remove(request.exchange, std::string(request.arguments["name"]));
               });
    routes.add({.path = "/v1/mcp/servers/{name}/diff",
                .summary = "Descriptions of an MCP server that wait for an approval",
                .answers = {{200, "mcp_server_diff"}},
                .refusals = {404, 503}},
               [this](const Request& request) {
                   return diff(request.exchange, std::string(request.arguments["name"]));
               });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/mcp/servers/{name}/approve",
                .summary = "Approve descriptions of an MCP server",
                .request = "mcp_server_approval",
                .answers = {{200, "mcp_server_approved"}},
                .refusals = {400, 404, 409, 503}},
               [this](const Request& request) {
                   return approve(request.exchange, std::string(request.arguments["name"]));
               });
    add_login_routes(routes);
}

void McpApi::add_login_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.method = net::Method::kPost,
                .path = "/v1/mcp/servers/{name}/login",
                .proof = net::FreshProof::kNever,
                .summary = "Begin a login at an MCP server",
                .request = "mcp_login_request",
                .answers = {{200, "mcp_login"}},
                .refusals = {400, 403, 404, 502, 503, 504}},
               [this](const Request& request) {
                   return begin_login(request.exchange, std::string(request.arguments["name"]));
               });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/mcp/servers/{name}/login/{login}",
                .proof = net::FreshProof::kNever,
                .summary = "End a login at an MCP server with what the browser came back with",
                .request = "mcp_login_answer",
                .answers = {{200, "mcp_server_changed"}},
                .refusals = {400, 403, 404, 502, 503, 504}},
               [this](const Request& request) {
                   return finish_login(request.exchange, std::string(request.arguments["name"]),
                                       std::string(request.arguments["login"]));
               });
    routes.add({.method = net::Method::kDelete,
                .path = "/v1/mcp/servers/{name}/login",
                .proof = net::FreshProof::kNever,
                .summary = "Forget a login at an MCP server",
                .query = {{"principal", "whose login; absent: that of the gateway"}},
                .answers = {{200, "mcp_server_changed"}},
                .refusals = {404, 503}},
               [this](const Request& request) {
                   return logout(request.exchange, std::string(request.arguments["name"]));
               });
}

bool McpApi::knows(std::string_view name) {
    return std::ranges::any_of(services_.configs.known(),
                               [&](const KnownMcpServer& server) { return server.name == name; });
}

/// On a thread of the pool.
Result<McpServersControl*> McpApi::control_of(std::string_view name) {
    if (!knows(name)) return fail(ErrorCode::kNotFound, "there is no such MCP server");
    McpServersControl* const control = services_.control();
    if (control == nullptr) return fail(ErrorCode::kUnavailable, "no MCP servers run");
    return control;
}

Task<void> McpApi::begin_login(net::HttpExchange& exchange, std::string name) {
    const auto body = body_of(exchange);
    if (!body) co_return;
    auto work = [this, name, principal = body->text("principal"),
                 redirect = body->text("redirect_uri")]() -> Result<McpLoginBegun> {
        auto control = control_of(name);
        if (!control) return fail(std::move(control.error()));
        return (*control)->begin_login(name, principal, redirect);
    };
    const auto begun = co_await services_.pool.run(std::move(work));
    if (!begun) co_return exchange.respond_error(begun.error());
    respond(exchange, json::Value::object({{"login", begun->id}, {"url", begun->url}}));
}

Task<void> McpApi::finish_login(net::HttpExchange& exchange, std::string name, std::string login) {
    const auto body = body_of(exchange);
    if (!body) co_return;
    auto work = [this, name, login, redirected = body->text("redirected")]() -> Result<void> {
        auto control = control_of(name);
        if (!control) return fail(std::move(control.error()));
        return (*control)->finish_login(name, login, redirected);
    };
    const Result<void> done = co_await services_.pool.run(std::move(work));
    if (!done) co_return exchange.respond_error(done.error());
    respond(exchange, json::Value::object({{"name", name}}));
}

Task<void> McpApi::logout(net::HttpExchange& exchange, std::string name) {
    std::string principal = net::find_query(exchange.request().query(), "principal").value_or("");
    auto work = [this, name, whose = std::move(principal)]() -> Result<void> {
        auto control = control_of(name);
        if (!control) return fail(std::move(control.error()));
        return (*control)->logout(name, whose);
    };
    const Result<void> done = co_await services_.pool.run(std::move(work));
    if (!done) co_return exchange.respond_error(done.error());
    respond(exchange, json::Value::object({{"name", name}}));
}

Task<void> McpApi::list(net::HttpExchange& exchange) {
    auto collect = [this] {
        McpServersControl* const control = services_.control();
        return std::pair(services_.configs.known(),
                         control != nullptr ? control->states() : std::vector<McpServerState>());
    };
    const auto [known, states] = co_await services_.pool.run(std::move(collect));
    json::Value servers = json::Value::array();
    for (const KnownMcpServer& server : known) {
        const auto state = std::ranges::find(states, server.name, &McpServerState::name);
        servers.push_back(shown(server, state != states.end() ? &*state : nullptr));
    }
    respond(exchange, json::Value::object({{"servers", std::move(servers)}}));
}

Task<void> McpApi::put(net::HttpExchange& exchange, std::string name, McpServerConfigs::Put how) {
    auto body = body_of(exchange);
    if (!body) co_return;
    if (how == McpServerConfigs::Put::kNew) name = body->text("name");
    json::Value* const server = body->find("server");
    if (name.empty() || server == nullptr || !server->is_object())
        co_return exchange.respond_error(400, "INVALID_ARGS",
                                         "name the server, and say in `server` what it is");
    auto work = [this, name, how, server = std::move(*server),
                 origin = body->text("origin")]() mutable {
        return services_.configs.put(name, std::move(server), origin, how);
    };
    const Result<void> done = co_await services_.pool.run(std::move(work));
    if (!done) co_return exchange.respond_error(done.error());
    respond(exchange, json::Value::object({{"name", name}}));
}

Task<void> McpApi::remove(net::HttpExchange& exchange, std::string name) {
    auto work = [this, name] { return services_.configs.remove(name); };
    const Result<void> done = co_await services_.pool.run(std::move(work));
    if (!done) co_return exchange.respond_error(done.error());
    respond(exchange, json::Value::object({{"name", name}}));
}

Task<void> McpApi::diff(net::HttpExchange& exchange, std::string name) {
    auto work = [this, name]() -> Result<std::vector<McpChange>> {
        if (!knows(name)) return fail(ErrorCode::kNotFound, "there is no such MCP server");
        McpServersControl* const control = services_.control();
        if (control == nullptr) return std::vector<McpChange>();
        return control->diff(name);
    };
    const auto changes = co_await services_.pool.run(std::move(work));
    if (!changes) co_return exchange.respond_error(changes.error());
    json::Value out = json::Value::array();
    for (const McpChange& change : *changes)
        out.push_back(json::Value::object({{"kind", change.kind},
                                           {"name", change.name},
                                           {"why", change.why},
                                           {"before", change.before},
                                           {"after", change.after},
                                           {"digest", change.digest}}));
    respond(exchange, json::Value::object({{"changes", std::move(out)}}));
}

Task<void> McpApi::approve(net::HttpExchange& exchange, std::string name) {
    const auto body = body_of(exchange);
    if (!body) co_return;
    auto entries = approvals_of(*body);
    if (!entries) co_return exchange.respond_error(entries.error());
    const bool known = co_await services_.pool.run([this, name] { return knows(name); });
    if (!known)
        co_return exchange.respond_error(
            Error{.code = ErrorCode::kNotFound, .message = "there is no such MCP server"});
    // Not in the pool: it waits for the pool itself.
    McpServersControl* const control = services_.control();
    if (control == nullptr)
        co_return exchange.respond_error(
            Error{.code = ErrorCode::kUnavailable, .message = "no MCP servers run"});
    const auto approved = co_await control->approve(name, std::move(*entries));
    if (!approved) co_return exchange.respond_error(approved.error());
    respond(exchange, json::Value::object({{"approved", texts(*approved)}}));
}

}  // namespace crab::admin
