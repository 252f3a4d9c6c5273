#include "net/http/route_answers.hpp"

#include "base/error_code.hpp"
#include "net/http/http_error.hpp"

#include <span>
#include <string>

namespace crab::net {
namespace {

constexpr std::string_view kJson = "application/json";

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
    exchange.respond(status, kJson, body, headers);
}

bool found_or_refused(HttpExchange& exchange, const RouteMatch& match) {
    if (match.found()) return true;
    if (match.kind == RouteMatch::Kind::kUnknownPath) {
        respond_unknown_path(exchange);
    } else {
        refuse(exchange, match.route, 405,
               {.code = ErrorCode::kInvalidArgs, .message = "use " + spoken(match.allow)},
               {{"Allow", match.allow}});
    }
    return false;
}

void respond_health(HttpExchange& exchange, bool stopping) {
    exchange.respond(stopping ? 503 : 200, kJson, stopping ? R"({"ok":false})" : R"({"ok":true})");
}

}  // namespace crab::net
