#include "adapters/mcp/server/endpoints.hpp"

#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "net/codec/http_text.hpp"

#include <initializer_list>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::string_view kMessage = "mcp_message";  // in spec/http
constexpr std::string_view kRealm = "crab";

/// What a route answers; refusals, those of the listener too, are messages.
std::vector<net::RouteAnswer> answers(std::vector<net::RouteAnswer> good,
                                      std::initializer_list<int> refusals) {
    for (const int status : refusals) good.push_back({status, kMessage});
    return good;
}

/// The listener's own refusals: errors without id.
void append_refused(std::string& body, const Error& error) {
    append_error(body, nullptr, Era::kModern, rpc_error(error, rpc_code::kInvalidRequest));
}

}  // namespace

Endpoints::Endpoints(const Endpoint::Uses& uses)
    : max_request_(uses.state.options.max_request), legacy_sse_(uses.state.options.legacy_sse) {
    all_[""] = std::make_unique<Endpoint>(uses, uses.state.options.whole);
    for (const Scope& scope : uses.state.options.scopes)
        all_[scope.name] = std::make_unique<Endpoint>(uses, scope);
}

void Endpoints::add_routes(net::Routes<core::PrincipalRef>& routes, Carrier carrier) {
    add_routes(routes, carrier, "/mcp",
               [whole = all_.at("").get()](const Request&) { return whole; });
    add_routes(routes, carrier, "/mcp/{scope}", [this](const Request& request) -> Endpoint* {
        const std::string& name = request.arguments["scope"];
        const auto found = all_.find(name);
        if (found != all_.end() && !name.empty()) return found->second.get();
        std::string body;
        append_refused(body, Error{.code = ErrorCode::kNotFound,
                                   .message = fmt::format("there is no scope {}", name)});
        request.exchange.respond(404, kJsonType, body);
        return nullptr;
    });
    if (legacy_sse_ && carrier == Carrier::kHttp) add_sse_routes(routes);
}

void Endpoints::add_sse_routes(net::Routes<core::PrincipalRef>& routes) {
    Endpoint* const whole = all_.at("").get();
    routes.add({.path = "/mcp/sse",
                .summary = "A session of an MCP client of 2024-11-05, as a stream of events",
                .not_while_stopping = true,
                .realm = kRealm,
                .errors = append_refused,
                .answers = answers({{200, {}, kEventsType}}, {401, 403, 406, 503})},
               [whole](const Request& request) -> Task<void> {
                   return whole->get_sse(request.exchange, request.principal);
               });
    routes.add({.method = net::Method::kPost,
                .path = "/mcp/messages",
                .summary = "A message of such a client, which is answered on its stream",
                .not_while_stopping = true,
                .body = net::RequestBodyLimits{.max_bytes = max_request_},
                .realm = kRealm,
                .errors = append_refused,
                .query = {{"session", "the session, as its stream has said"}},
                .request = kMessage,
                .answers = answers({{202, {}, {}}}, {400, 401, 403, 404, 408, 413, 415, 503})},
               [whole](const Request& request) -> Task<void> {
                   return whole->post_sse(request.exchange, request.principal);
               });
}

void Endpoints::add_routes(net::Routes<core::PrincipalRef>& routes, Carrier carrier,
                           std::string_view path, const Find& find) {
    const bool whole = !path.contains('{');
    routes.add({.method = net::Method::kPost,
                .path = path,
                .unrecorded = "calls have their records; the rest is the client's session",
                .summary = whole ? "A message of an MCP client (Model Context Protocol)"
                                 : "The same with the tools of a configured scope",
                .not_while_stopping = true,
                .body = net::RequestBodyLimits{.max_bytes = max_request_},
                .realm = kRealm,
                .errors = append_refused,
                .headers = {{"MCP-Protocol-Version", "the revision of MCP that is spoken"},
                            {"Mcp-Session-Id", "the session, of revisions that have sessions"},
                            {"Mcp-Method", "the message's method, of revisions without sessions"},
                            {"Mcp-Name", "what the message is about, of these"}},
                .request = kMessage,
                .answers = answers({{200, kMessage}, {200, {}, kEventsType}, {202, {}, {}}},
                                   {400, 401, 403, 404, 406, 408, 413, 415, 503})},
               [carrier, find](const Request& request) -> Task<void> {
                   if (Endpoint* const of = find(request))
                       co_await of->post(request.exchange, request.principal, carrier);
               });
    routes.add({.path = path,
                .summary = whole ? "What is new in a session of MCP, as a stream of events"
                                 : "The same of a session of a scope",
                .not_while_stopping = true,
                .realm = kRealm,
                .errors = append_refused,
                .headers = {{"Mcp-Session-Id", "the session"},
                            {"Last-Event-ID", "the event after which a broken stream goes on"}},
                .answers = answers({{200, {}, kEventsType}}, {400, 401, 403, 404, 405, 406, 503})},
               [find](const Request& request) -> Task<void> {
                   if (Endpoint* const of = find(request))
                       co_await of->get(request.exchange, request.principal);
               });
    routes.add({.method = net::Method::kDelete,
                .path = path,
                .unrecorded = "ends the client's own session",
                .summary = whole ? "End a session of MCP" : "End a session of a scope",
                .realm = kRealm,
                .errors = append_refused,
                .headers = {{"Mcp-Session-Id", "the session"}},
                .answers = answers({{204, {}, {}}}, {401, 403, 404, 405})},
               [find](const Request& request) {
                   if (Endpoint* const of = find(request))
                       of->end_session(request.exchange, *request.principal);
               });
}

void Endpoints::stop() {
    for (const auto& [name, endpoint] : all_) endpoint->stop();
}

void Endpoints::end(std::function<void()> done) {
    const auto left = std::make_shared<std::size_t>(all_.size());
    for (const auto& [name, endpoint] : all_)
        endpoint->end([left, done] {
            if (--*left == 0) done();
        });
}

void Endpoints::end_credential(std::string_view credential) {
    for (const auto& [name, endpoint] : all_) endpoint->end_credential(credential);
}

}  // namespace crab::mcp
