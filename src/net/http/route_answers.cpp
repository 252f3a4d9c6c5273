#include "net/http/route_answers.hpp"

#include "base/error_code.hpp"
#include "net/codec/http_text.hpp"
#include "net/http/http_error.hpp"

#include <span>
#include <string>

namespace crab::net {
namespace {

/// What pages may send, of the fields that a browser does not send by itself.
constexpr std::string_view kSharedRequestHeaders =
    "Authorization, Content-Digest, Content-Type, Crab-Away-Wait-Ms, Crab-Lease, If-None-Match, "
    "If-Range, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Range, "
    "Traceparent, X-Idempotency-Key, X-Pairing-Code, X-Persona, "
    "X-Session-Id";

/// `GET, HEAD, POST` as people say it: `GET or POST`. HEAD is understood.
std::string spoken(std::string_view allow) {
    std::string text;
    while (!allow.empty()) {
        const std::size_t comma = allow.find(", ");
        const std::string_view method = allow.substr(0, comma);
        allow.remove_prefix(comma == std::string_view::npos ? allow.size() : comma + 2);
        if (method == "HEAD") continue;
        if (!text.empty()) text += " or ";
        text += method;
    }
    return text;
}

/// And those whose names depend on what is called: of a tool's parameters in MCP.
std::string shared_request_headers(std::string_view asked) {
    constexpr std::string_view kOpenEnded = "mcp-param-";
    std::string all(kSharedRequestHeaders);
    while (!asked.empty()) {
        const std::size_t comma = asked.find(',');
        const std::string_view name = trim(asked.substr(0, comma));
        asked.remove_prefix(comma == std::string_view::npos ? asked.size() : comma + 1);
        if (name.size() > kOpenEnded.size() && all_of_class(name, kTokenChar) &&
            equals_lower(name.substr(0, kOpenEnded.size()), kOpenEnded))
            all.append(", ").append(name);
    }
    return all;
}

/// RFC 9110 section 9.3.7; to a page that may read the answers, what the Fetch standard's preflight
/// asks.
void respond_options(HttpExchange& exchange, const RouteMatch& match) {
    const std::string allow = match.allow + ", OPTIONS";
    if (!exchange.shared() || !exchange.request().find("access-control-request-method"))
        return exchange.respond(204, "", "", {{"Allow", allow}});
    const std::string allowed = shared_request_headers(
        exchange.request().find("access-control-request-headers").value_or(""));
    exchange.respond(204, "", "",
                     {{"Allow", allow},
                      {"Access-Control-Allow-Methods", match.allow},
                      {"Access-Control-Allow-Headers", allowed},
                      {"Access-Control-Max-Age", "600"}});
}

}  // namespace

void respond_unknown_path(HttpExchange& exchange) {
    exchange.respond_error(404, "NOT_FOUND", "no such path");
}

void append_route_error(std::string& body, const Route* route, const Error& error) {
    if (route != nullptr && route->errors != nullptr) return route->errors(body, error);
    append_error_body(body, token_of(error.code), error.message);
}

void refuse(HttpExchange& exchange, const Route* route, int status, const Error& error,
            std::initializer_list<HttpHeader> headers) {
    std::string body;
    append_route_error(body, route, error);
    exchange.respond(status, kJsonType, body, headers);
}

bool found_or_refused(HttpExchange& exchange, const RouteMatch& match) {
    if (match.found()) return true;
    if (match.kind == RouteMatch::Kind::kUnknownPath) {
        respond_unknown_path(exchange);
    } else if (exchange.request().method() == "OPTIONS") {
        respond_options(exchange, match);
    } else {
        refuse(exchange, match.route, 405,
               {.code = ErrorCode::kInvalidArgs, .message = "use " + spoken(match.allow)},
               {{"Allow", match.allow}});
    }
    return false;
}

void respond_health(HttpExchange& exchange, bool stopping) {
    exchange.respond(stopping ? 503 : 200, kJsonType,
                     stopping ? R"({"ok":false})" : R"({"ok":true})");
}

}  // namespace crab::net
