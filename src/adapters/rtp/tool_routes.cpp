#include "adapters/rtp/tool_routes.hpp"

#include "adapters/rtp/call_wire.hpp"
#include "net/http_error.hpp"

#include <unistd.h>

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

bool is_tools_path(std::string_view path) { return path == "/v1/tools" || path == "/v1/tools/call" || path == "/v1/tools/cancel"; }

bool method_fits(net::HttpExchange& exchange, std::string_view path) {
    const std::string_view wanted = path == "/v1/tools" ? "GET" : "POST";
    if (exchange.request().method() == wanted) return true;
    exchange.respond_error(405, "INVALID_ARGS", "this path takes another method", {{"Allow", wanted}});
    return false;
}

void respond_unknown_path(net::HttpExchange& exchange) { exchange.respond_error(404, "NOT_FOUND", "no such path"); }

bool append_refusal(const net::HttpRequest* request, int status, std::string_view reason, std::string& body) {
    return append_refusal(request == nullptr ? std::string_view() : request->path(), status, reason, body);
}

bool append_refusal(std::string_view path, int status, std::string_view reason, std::string& body) {
    if (!path.starts_with("/v1/")) return false;
    const ErrorCode code = status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgs;
    if (path == "/v1/tools/call") {
        const core::Outcome outcome = fail(code, std::string(reason));
        append_call_response(body, "", "", 0, outcome);
    } else {
        net::append_error_body(body, wire_code(code), reason);
    }
    return true;
}

bool is_own_user(const net::PeerAddress& peer) { return peer.uid() == ::getuid() || peer.uid() == 0; }

}  // namespace crab::rtp
