#include "gateway/listeners/peer_service.hpp"

#include "adapters/rtp/calls/route_errors.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

// a revoked peer has to be gone within a second, whether it answers the close or not
constexpr Milliseconds kCloseWithin{500};

constexpr ApiDescription kDescription{
    .title = "crab gateway: the peer listener",
    .text =
        "For paired components: mutual TLS with a certificate of the gateway's own authority. "
        "`x-action` is what the policy has to grant.",
    .proof = CallerProof::kCertificate,
    .body_bytes = net::RequestBodyLimits{}.max_bytes,
    .guest_bytes = net::RequestBodyLimits{}.max_bytes};

}  // namespace

PeerService::PeerService(const Services& services)
    : access_(services.access), budgets_(services.budgets), certificates_(services.certificates) {
    add_health_routes({"/healthz"}, {});
    add_api_document(routes_, net::Caller::kProven, kDescription);
}

std::string PeerService::api_document() const {
    return gateway::api_document(routes_.table(), kDescription);
}

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
            .budget = principal ? budgets_.of((*principal)->id) : nullptr};
}

void PeerService::refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                               std::string& body) {
    if (!rtp::append_refusal(routes_.table(), request, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

std::optional<net::Upgrade> PeerService::upgrade(const net::HttpRequest& request,
                                                 const net::WebSocketOffer& offer) {
    const auto principal = certificates_.find(request.certificate_der());
    if (!principal) return refuse_head(request);
    auto answer = routes_.upgrade(request, offer, *principal);
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
    const net::RouteMatch& match = exchange.request().match;
    if (!net::found_or_refused(exchange, match)) co_return;
    if (!match.route->action.empty() && !allows(exchange, **principal, match.route->action))
        co_return;
    const Request routed{exchange, *principal, match.arguments};
    if (!routes_.serve_now(match, routed)) co_await routes_.serve(match, routed);
}

/// False: it was answered that the principal may not.
bool PeerService::allows(net::HttpExchange& exchange, const core::Principal& principal,
                         std::string_view action) const {
    const auto decision =
        access_.decide(principal, action, {}, exchange.request().find("crab-lease").value_or(""));
    if (!decision.allowed())
        exchange.respond_error(
            403, "FORBIDDEN",
            fmt::format("{} may not do {} ({})", principal.id, action, decision.rule));
    return decision.allowed();
}

}  // namespace crab::gateway
