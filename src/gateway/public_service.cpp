#include "gateway/public_service.hpp"

#include "adapters/rtp/calls/tool_routes.hpp"
#include "trust/origin_policy.hpp"

#include <algorithm>

namespace crab::gateway {
namespace {

bool is_health_path(std::string_view path) { return path == "/healthz" || path == "/readyz"; }

Error stopping_error() {
    return fail(ErrorCode::kUnavailable, "the gateway is stopping; call again when it is back")
        .error();
}

}  // namespace

Result<core::PrincipalRef> PublicService::authenticate(const net::HttpRequest& request, bool told) {
    const std::string_view token = trust::bearer_of(request.find("authorization").value_or(""));
    const auto peer = [&] {
        return trust::RequestPeer{.loopback = request.peer.is_loopback(),
                                  .text = request.peer.ip()};
    };
    auto proven =
        told ? authentication_.authenticate(token, peer) : authentication_.prove(token, peer);
    if (!proven) return fail(std::move(proven.error()));
    return std::move(proven->principal);
}

/// The path below the prefix, or nothing for one that is not below it.
std::string_view PublicService::local_path(std::string_view path) const {
    if (prefix_.empty()) return path;
    return path.starts_with(prefix_) && path.substr(prefix_.size()).starts_with('/')
               ? path.substr(prefix_.size())
               : std::string_view();
}

net::RequestBodyLimits PublicService::limits_for(const net::HttpRequest& request) {
    if (rtp::is_tools_path(local_path(request.path()))) return {.max_bytes = max_body_bytes_};
    if (front_.takes_pieces(request)) return front_.piece_limits(request);
    return {.max_bytes = front_.is_open_to_strangers(request.path())
                             ? std::min(kMostOfStrangers, max_body_bytes_)
                             : max_body_bytes_};
}

net::BodyAdmission PublicService::admit_body(const net::HttpRequest& request) {
    const std::string_view path = request.path(), local = local_path(path);
    if (front_.is_open_to_strangers(path))
        return {.admitted = true, .budget = budgets_.of(request.peer.ip())};
    if (!rtp::is_tools_path(local) && !rtp::ArtifactsApi::owns(local) && !front_.owns(path))
        return {.admitted = false, .budget = nullptr};
    const auto principal = authenticate(request, false);  // the answer tells it
    return {.admitted = principal.has_value(),
            .budget = principal ? budgets_.of((*principal)->id) : nullptr};
}

void PublicService::refusal_body(const net::HttpRequest* request, int status,
                                 std::string_view reason, std::string& body) {
    const std::string_view path =
        request == nullptr ? std::string_view() : local_path(request->path());
    if (!rtp::append_refusal(path, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

bool PublicService::is_operator(const net::HttpRequest& request) {
    const auto principal = authenticate(request);
    return principal && ((*principal)->roles.has(core::Role::kOperator) ||
                         (*principal)->roles.has(core::Role::kCliAdmin));
}

bool PublicService::source_allowed(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    const bool plain = !request.find("origin").has_value();
    if (plain && !known_host_.empty() && request.head.host == known_host_) return true;
    if (const auto refused = front_.refused_source(request)) {
        rtp::refuse_request(exchange, local_path(request.path()), 403,
                            {.code = ErrorCode::kForbidden, .message = *refused});
        return false;
    }
    known_host_ = request.head.host;
    return true;
}

std::optional<net::Upgrade> PublicService::upgrade(const net::HttpRequest& request,
                                                   const net::WebSocketOffer& offer) {
    if (!front_.owns(request.path())) return std::nullopt;
    if (local_path(request.path()) != "/ws/chat") return std::nullopt;
    return front_.upgrade(request, offer);
}

Task<void> PublicService::serve(net::HttpExchange& exchange) {
    const std::string_view whole_path = exchange.request().path();
    const std::string_view path = local_path(whole_path);
    if (rtp::is_tools_path(path)) {
        // An early return of another coroutine costs a frame; the hot path takes just this branch.
        if (!rtp::method_fits(exchange, path) || !source_allowed(exchange)) co_return;
        const bool call = path == "/v1/tools/call";
        if (call && stopping_) {
            rtp::ToolsApi::refuse(exchange, 503, stopping_error());
            co_return;
        }
        auto principal = authenticate(exchange.request());
        if (!principal) {
            rtp::refuse_request(exchange, path, 401, principal.error(),
                                {{"WWW-Authenticate", "Bearer"}});
            co_return;
        }
        exchange.prove_caller();
        if (call) {
            co_await tools_.call(exchange, *principal, "http");
        } else if (path == "/v1/tools") {
            tools_.list(exchange, **principal);
        } else {
            tools_.cancel(exchange, **principal);
        }
        co_return;
    }
    if (is_health_path(path)) {
        rtp::serve_health(exchange, exchange.request().method_or_get_for_head(), stopping_);
    } else if (rtp::ArtifactsApi::owns(path)) {
        co_await serve_artifacts(exchange, path);
    } else if (front_.owns(whole_path)) {
        co_await front_.serve(exchange);
    } else if (page_ && page_->owns(whole_path)) {
        if (source_allowed(exchange)) page_->serve(exchange);
    } else if (path == "/metrics" && exchange.request().method_or_get_for_head() == "GET" &&
               is_operator(exchange.request())) {
        // For scrapers with an operator's token; to everybody else there is no such path
        // (docs/protocols/clawseed.md, section 8).
        exchange.respond(200, "text/plain; version=0.0.4", metrics_.text());
    } else {
        rtp::respond_unknown_path(exchange);
    }
}

Task<void> PublicService::serve_artifacts(net::HttpExchange& exchange, std::string_view path) {
    if (!source_allowed(exchange)) co_return;
    auto principal = authenticate(exchange.request());
    if (!principal)
        co_return exchange.respond_error(401, "UNAUTHORIZED", principal.error().message,
                                         {{"WWW-Authenticate", "Bearer"}});
    exchange.prove_caller();
    co_await artifacts_.serve(exchange, std::move(*principal), path);
}

void AdminService::refusal_body(const net::HttpRequest* request, int status,
                                std::string_view reason, std::string& body) {
    if (!rtp::append_refusal(request, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

const core::PrincipalRef& AdminService::operator_of(const net::PeerAddress& peer) {
    core::PrincipalRef& principal = operators_[peer.uid()];
    if (!principal) principal = trust::local_operator(peer.uid());
    return principal;
}

bool AdminService::knows(const net::Connection& connection) {
    return rtp::is_own_user(connection.peer());
}

std::optional<net::Refusal> AdminService::refuse_head(const net::HttpRequest& request) {
    const auto origin = request.find("origin");
    if (!origin) return std::nullopt;
    const std::string_view host = request.head.host;
    if (trust::is_host_allowed(host, {}) && trust::is_origin_allowed(origin, "http", host, {}))
        return std::nullopt;
    net::Refusal refusal{.status = 403};
    rtp::append_refusal_body(
        refusal.body, request.path(),
        {.code = ErrorCode::kForbidden, .message = "this origin may not use the admin socket"});
    return refusal;
}

std::optional<net::Upgrade> AdminService::upgrade(const net::HttpRequest& request,
                                                  const net::WebSocketOffer& offer) {
    if (!rtp::is_own_user(request.peer))
        return net::Refusal{
            .status = 403,
            .body = R"({"error":"the admin socket is for the user who runs the gateway",)"
                    R"("code":"FORBIDDEN"})"};
    if (request.path() == "/ws/chat")
        return chat_.upgrade_as(request, offer, operator_of(request.peer));
    if (auto stream = events_.upgrade(request, offer, operator_of(request.peer))) return stream;
    return pairings_.upgrade(request);
}

Task<void> AdminService::serve(net::HttpExchange& exchange) {
    const std::string_view path = exchange.request().path();
    const net::PeerAddress& peer = exchange.request().peer;
    if (!rtp::is_own_user(peer)) {
        rtp::refuse_request(exchange, path, 403,
                            {.code = ErrorCode::kForbidden,
                             .message = "the admin socket is for the user who runs the gateway"});
        co_return;
    }
    const core::PrincipalRef principal = operator_of(peer);
    if (rtp::is_tools_path(path)) {
        if (!rtp::method_fits(exchange, path)) co_return;
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
    if (is_health_path(path)) {
        rtp::serve_health(exchange, exchange.request().method(), stopping_);
        co_return;
    }
    if (rtp::ArtifactsApi::owns(path))
        co_return co_await artifacts_.serve(exchange, principal, path);
    if (chat_.is_upload(exchange.request())) co_return co_await chat_.upload(exchange, principal);
    if (co_await peers_.serve(exchange) || co_await pairings_.serve(exchange)) co_return;
    if (co_await leases_.serve(exchange, principal)) co_return;
    if (policy_.serve(exchange)) co_return;
    if (co_await worktrees_.serve(exchange) || co_await approvals_.serve(exchange, principal))
        co_return;
    if (co_await agents_.serve(exchange, principal)) co_return;
    if (path == "/api/sessions" || path.starts_with("/api/sessions/")) {
        co_await chat_.serve_sessions(exchange, principal, path);
        co_return;
    }
    if (co_await events_.serve(exchange, principal)) co_return;
    if (!co_await admin_.serve(exchange, principal)) rtp::respond_unknown_path(exchange);
}

}  // namespace crab::gateway
