#include "apps/crab/gateway/public_service.hpp"

#include "adapters/rtp/call_wire.hpp"

#include <unistd.h>

namespace crab::app {
namespace {

constexpr std::string_view kJson = "application/json";

/// `/healthz` and `/readyz`, alike on every listener; false when the path is another.
bool serve_health(net::HttpExchange& exchange, std::string_view path, bool stopping) {
    if (path != "/healthz" && path != "/readyz") return false;
    if (exchange.request().method() != "GET") {
        exchange.respond_error(405, "INVALID_ARGS", "use GET", {{"Allow", "GET"}});
    } else if (stopping) {
        exchange.respond(503, kJson, R"({"ok":false})");
    } else {
        exchange.respond(200, kJson, R"({"ok":true})");
    }
    return true;
}

bool is_tools_path(std::string_view path) { return path == "/v1/tools" || path == "/v1/tools/call" || path == "/v1/tools/cancel"; }

/// The method a tools path wants, after a 405 for any other; false then.
bool method_fits(net::HttpExchange& exchange, std::string_view path) {
    const std::string_view wanted = path == "/v1/tools" ? "GET" : "POST";
    if (exchange.request().method() == wanted) return true;
    exchange.respond_error(405, "INVALID_ARGS", "this path takes another method", {{"Allow", wanted}});
    return false;
}

Error stopping_error() {
    return fail(ErrorCode::kUnavailable, "the gateway is stopping; call again when it is back").error();
}

/// The HTTP layer's refusal of a call, in the response schema; false for other paths.
bool append_call_refusal(const net::HttpRequest* request, int status, std::string_view reason, std::string& body) {
    if (request == nullptr || request->path() != "/v1/tools/call") return false;
    const core::Outcome outcome = fail(status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgs, std::string(reason));
    rtp::append_call_response(body, "", "", 0, outcome);
    return true;
}

/// The admin socket's mode keeps others out; this holds even if somebody widens it.
bool is_allowed(const net::PeerAddress& peer) { return peer.uid() == ::getuid() || peer.uid() == 0; }

void respond_unknown_path(net::HttpExchange& exchange) { exchange.respond_error(404, "NOT_FOUND", "no such path"); }

}  // namespace

Result<core::PrincipalRef> PublicService::authenticate(const net::HttpRequest& request) {
    const std::string_view header = request.find("authorization").value_or("");
    const std::uint64_t epoch = tokens_.epoch();
    if (epoch != known_epoch_) {
        known_.clear();
        known_epoch_ = epoch;
    }
    if (const auto it = known_.find(header); it != known_.end()) {
        if (!it->second.expires_at || std::chrono::system_clock::now() < *it->second.expires_at) return it->second.principal;
        known_.erase(it);
    }
    const std::string_view token = trust::bearer_of(header);
    auto principal = authentication_.authenticate(token, {.loopback = request.peer.is_loopback(), .text = request.peer.ip()});
    constexpr std::size_t kMostKnown = 1024;
    if (principal && !token.empty()) {
        if (known_.size() >= kMostKnown) known_.clear();
        known_.emplace(header, Known{.principal = *principal, .expires_at = tokens_.expires_at(**principal)});
    }
    return principal;
}

void PublicService::refusal_body(const net::HttpRequest* request, int status, std::string_view reason, std::string& body) {
    if (!append_call_refusal(request, status, reason, body)) HttpService::refusal_body(request, status, reason, body);
}

bool PublicService::is_operator(const net::HttpRequest& request) {
    const auto principal = authenticate(request);
    return principal && ((*principal)->roles.has(core::Role::kOperator) || (*principal)->roles.has(core::Role::kCliAdmin));
}

bool PublicService::source_allowed(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    const bool plain = !request.find("origin").has_value();
    if (plain && !known_host_.empty() && request.head.host == known_host_) return true;
    if (const auto refused = front_.refused_source(request)) {
        exchange.respond_error(403, "FORBIDDEN", *refused);
        return false;
    }
    known_host_ = request.head.host;
    return true;
}

std::optional<net::Upgrade> PublicService::upgrade(const net::HttpRequest& request, const net::WebSocketOffer& offer) {
    if (!front_.owns(request.path())) return std::nullopt;
    if (!request.path().ends_with("/ws/chat")) return std::nullopt;
    return front_.upgrade(request, offer);
}

Task<void> PublicService::serve(net::HttpExchange& exchange) {
    const std::string_view path = exchange.request().path();
    if (is_tools_path(path)) {
        // An early return of another coroutine costs a frame; the hot path takes just this branch.
        if (!method_fits(exchange, path) || !source_allowed(exchange)) co_return;
        const bool call = path == "/v1/tools/call";
        if (call && stopping_) {
            rtp::ToolsApi::refuse(exchange, 503, stopping_error());
            co_return;
        }
        auto principal = authenticate(exchange.request());
        if (!principal) {
            if (call) {
                rtp::ToolsApi::refuse(exchange, 401, principal.error());
            } else {
                exchange.respond_error(401, "UNAUTHORIZED", principal.error().message, {{"WWW-Authenticate", "Bearer"}});
            }
            co_return;
        }
        if (call) {
            co_await tools_.call(exchange, *principal, "http");
        } else if (path == "/v1/tools") {
            tools_.list(exchange, **principal);
        } else {
            tools_.cancel(exchange, **principal);
        }
        co_return;
    }
    if (serve_health(exchange, path, stopping_)) co_return;
    if (front_.owns(path)) {
        co_await front_.serve(exchange);
    } else if (path == "/metrics" && exchange.request().method() == "GET" && is_operator(exchange.request())) {
        // For scrapers with an operator's token; to everybody else there is no such path (docs/protocols/clawseed.md, section 8).
        exchange.respond(200, "text/plain; version=0.0.4", metrics_.text());
    } else {
        respond_unknown_path(exchange);
    }
}

void AdminService::refusal_body(const net::HttpRequest* request, int status, std::string_view reason, std::string& body) {
    if (!append_call_refusal(request, status, reason, body)) HttpService::refusal_body(request, status, reason, body);
}

std::optional<net::Upgrade> AdminService::upgrade(const net::HttpRequest& request, const net::WebSocketOffer&) {
    if (!is_allowed(request.peer)) return net::RefuseUpgrade{.status = 403, .body = R"({"error":"the admin socket is for the user who runs the gateway","code":"FORBIDDEN"})"};
    return peers_.upgrade(request);
}

Task<void> AdminService::serve(net::HttpExchange& exchange) {
    const std::string_view path = exchange.request().path();
    const net::PeerAddress& peer = exchange.request().peer;
    if (!is_allowed(peer)) {
        exchange.respond_error(403, "FORBIDDEN", "the admin socket is for the user who runs the gateway");
        co_return;
    }
    core::PrincipalRef& principal = operators_[peer.uid()];
    if (!principal) principal = trust::local_operator(peer.uid());
    if (is_tools_path(path)) {
        if (!method_fits(exchange, path)) co_return;
        if (path == "/v1/tools/call" && stopping_) {
            rtp::ToolsApi::refuse(exchange, 503, stopping_error());
        } else if (path == "/v1/tools/call") {
            co_await tools_.call(exchange, principal, "admin");
        } else if (path == "/v1/tools") {
            tools_.list(exchange, *principal);
        } else {
            tools_.cancel(exchange, *principal);
        }
        co_return;
    }
    if (serve_health(exchange, path, stopping_)) co_return;
    if (co_await peers_.serve(exchange)) co_return;
    if (!co_await admin_.serve(exchange, principal)) respond_unknown_path(exchange);
}

}  // namespace crab::app
