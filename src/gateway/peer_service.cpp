#include "gateway/peer_service.hpp"

#include "adapters/rtp/calls/tool_routes.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

// a revoked peer has to be gone within a second, polite or not
constexpr Milliseconds kCloseWithin{500};
constexpr std::string_view kApprovals = "/v1/admin/approvals";

std::string_view action_of_approvals(const net::HttpRequest& request) {
    return request.method() == "GET" ? "control.sessions:approvals.read"
                                     : "control.sessions:approvals.decide";
}

}  // namespace

std::optional<net::Refusal> PeerService::refuse_head(const net::HttpRequest& request) {
    const auto principal = certificates_.find(request.certificate_der());
    if (principal) return std::nullopt;
    net::Refusal refusal{.status =
                             principal.error().code == ErrorCode::kUnauthenticated ? 401 : 403};
    net::append_error_body(refusal.body, refusal.status == 401 ? "UNAUTHORIZED" : "FORBIDDEN",
                           principal.error().message);
    return refusal;
}

net::BodyAdmission PeerService::admit_body(const net::HttpRequest& request) {
    const auto principal = certificates_.find(request.certificate_der());
    return {.admitted = principal.has_value(),
            .budget = principal ? services_.budgets.of((*principal)->id) : nullptr};
}

void PeerService::refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                               std::string& body) {
    if (!rtp::append_refusal(request, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

std::optional<net::Upgrade> PeerService::upgrade(const net::HttpRequest& request,
                                                 const net::WebSocketOffer& offer) {
    auto principal = certificates_.find(request.certificate_der());
    if (!principal) return refuse_head(request);
    auto answer = services_.events.upgrade(request, offer, std::move(*principal));
    if (!answer) return std::nullopt;
    if (auto* const accepted = std::get_if<net::AcceptUpgrade>(&*answer))
        accepted->options.close_timeout = std::min(accepted->options.close_timeout, kCloseWithin);
    return answer;
}

Task<void> PeerService::serve(net::HttpExchange& exchange) {
    const auto principal = certificates_.find(exchange.request().certificate_der());
    if (!principal) {  // trusted no more since its head was read
        exchange.close_when_done();
        exchange.respond_error(403, "FORBIDDEN", principal.error().message);
        co_return;
    }
    if (exchange.request().path() == "/healthz") {
        rtp::serve_health(exchange, exchange.request().method(), stopping_);
        co_return;
    }
    if (const std::string_view action = rtp::PeersApi::action_of(exchange.request());
        !action.empty()) {
        if (allows(exchange, **principal, action)) co_await services_.records.serve(exchange);
        co_return;
    }
    if (exchange.request().path().starts_with(kApprovals)) {
        const bool served =
            !allows(exchange, **principal, action_of_approvals(exchange.request())) ||
            co_await services_.approvals.serve(exchange, *principal);
        if (!served) rtp::respond_unknown_path(exchange);
        co_return;
    }
    if (co_await services_.events.serve(exchange, *principal)) co_return;
    if (!co_await services_.leases.serve(exchange, *principal)) rtp::respond_unknown_path(exchange);
}

/// False: it was answered that the principal may not.
bool PeerService::allows(net::HttpExchange& exchange, const core::Principal& principal,
                         std::string_view action) const {
    const auto decision = services_.access.decide(
        principal, action, {}, exchange.request().find("crab-lease").value_or(""));
    if (!decision.allowed())
        exchange.respond_error(
            403, "FORBIDDEN",
            fmt::format("{} may not do {} ({})", principal.id, action, decision.rule));
    return decision.allowed();
}

}  // namespace crab::gateway
