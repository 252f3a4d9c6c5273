#include "adapters/rtp/calls/tool_routes.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "net/http/http_error.hpp"

#include <span>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::rtp {

constexpr std::string_view kJson = "application/json";

void serve_health(net::HttpExchange& exchange, std::string_view method, bool stopping) {
    if (method != "GET") {
        exchange.respond_error(405, "INVALID_ARGS", "use GET", {{"Allow", "GET"}});
    } else if (stopping) {
        exchange.respond(503, kJson, R"({"ok":false})");
    } else {
        exchange.respond(200, kJson, R"({"ok":true})");
    }
}

bool is_tools_path(std::string_view path) {
    return path == "/v1/tools" || path == "/v1/tools/call" || path == "/v1/tools/cancel";
}

bool method_fits(net::HttpExchange& exchange, std::string_view path) {
    const std::string_view wanted = path == "/v1/tools" ? "GET" : "POST";
    if (exchange.request().method() == wanted) return true;
    refuse_request(exchange, path, 405,
                   {.code = ErrorCode::kInvalidArgs,
                    .message = fmt::format("this path takes {} only", wanted)},
                   {{"Allow", wanted}});
    return false;
}

void append_refusal_body(std::string& out, std::string_view path, const Error& error) {
    if (path != "/v1/tools/call")
        return net::append_error_body(out, wire_code(error.code), error.message);
    const core::Outcome outcome = fail(error);
    append_call_response(out, "", "", 0, outcome);
}

void refuse_request(net::HttpExchange& exchange, std::string_view path, int status,
                    const Error& error, std::initializer_list<net::HttpHeader> headers) {
    append_refusal_body(
        exchange.begin_response(status, kJson, std::span(headers.begin(), headers.size())), path,
        error);
    exchange.finish_response();
}

void respond_unknown_path(net::HttpExchange& exchange) {
    exchange.respond_error(404, "NOT_FOUND", "no such path");
}

bool append_refusal(const net::HttpRequest* request, int status, std::string_view reason,
                    std::string& body) {
    return append_refusal(request == nullptr ? std::string_view() : request->path(), status, reason,
                          body);
}

bool append_refusal(std::string_view path, int status, std::string_view reason, std::string& body) {
    if (!path.starts_with("/v1/")) return false;
    const ErrorCode code = status >= 500   ? ErrorCode::kUnavailable
                           : status == 429 ? ErrorCode::kRateLimited
                                           : ErrorCode::kInvalidArgs;
    append_refusal_body(body, path, {.code = code, .message = std::string(reason)});
    return true;
}

bool is_own_user(const net::PeerAddress& peer) {
    return peer.uid() == ::getuid() || peer.uid() == 0;
}

}  // namespace crab::rtp
