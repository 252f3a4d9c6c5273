#include "apps/crab/gateway/peer_service.hpp"

#include "adapters/rtp/tool_routes.hpp"
#include "net/http_error.hpp"
#include "trust/named_principal.hpp"
#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/peer_check.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::app {
namespace {

constexpr std::size_t kMostKnown = 1024;
constexpr Milliseconds kCloseWithin{500};  // a revoked peer has to be gone within a second, polite or not

}  // namespace

Result<core::PrincipalRef> PeerService::authenticate(const net::HttpRequest& request) {
    const SystemTime now = services_.clock.system_now();
    const std::string der = request.certificate_der();
    if (der.empty()) return fail(ErrorCode::kUnauthenticated, "show the certificate that this gateway issued when it paired you");
    auto known = known_.find(der);
    const bool holds = known != known_.end() && services_.peers.find(known->second.record->name) == known->second.record && now <= known->second.not_after;
    if (!holds) {
        if (known != known_.end()) known_.erase(known);
        auto judged = judge(der, now);
        if (!judged) return fail(std::move(judged.error()));
        if (known_.size() >= kMostKnown) known_.clear();
        known = known_.emplace(der, std::move(*judged)).first;
    }
    services_.peers.saw(known->second.record->name, now);
    return known->second.principal;
}

Result<PeerService::Known> PeerService::judge(const std::string& certificate_der, SystemTime now) {
    const auto leaf = crypto::Certificate::from_der(certificate_der);
    if (!leaf) return fail(ErrorCode::kUnauthenticated, "the certificate cannot be read");
    if (const auto chained = crypto::check_chain(*leaf, services_.ca, now); !chained) return fail(ErrorCode::kUnauthenticated, chained.error().message);
    const auto name = trust::peer_name_in(*leaf);
    if (!name) return fail(name.error());
    const trust::PeerRef peer = services_.peers.find(*name);
    if (!peer) return fail(ErrorCode::kForbidden, fmt::format("{} is not paired", name->text()));
    if (auto good = trust::check_peer(*peer, *leaf, services_.ca, now); !good) {
        if (good.error().code == ErrorCode::kPairingRequired) return fail(ErrorCode::kForbidden, std::move(good.error().message));
        services_.peers.mistrust(*name, good.error().message);
        services_.on_mismatch(*name, good.error().message);
        // The end of a renewal may have been lost on its way here; then the peer's next request finds it completed.
        services_.pool.post([&peers = services_.peers, peer, fingerprint = leaf->fingerprint(), now] { (void)complete_renewal(peers, *peer, fingerprint, now); });
        return fail(std::move(good.error()));
    }
    core::Principal principal = trust::principal_named(name->text(), std::nullopt);
    principal.credential_id = leaf->serial_number();
    return Known{.record = peer, .principal = std::make_shared<const core::Principal>(std::move(principal)), .not_after = leaf->not_after()};
}

std::optional<net::Refusal> PeerService::refuse_head(const net::HttpRequest& request) {
    const auto principal = authenticate(request);
    if (principal) return std::nullopt;
    net::Refusal refusal{.status = principal.error().code == ErrorCode::kUnauthenticated ? 401 : 403};
    net::append_error_body(refusal.body, refusal.status == 401 ? "UNAUTHORIZED" : "FORBIDDEN", principal.error().message);
    return refusal;
}

std::optional<net::Upgrade> PeerService::upgrade(const net::HttpRequest& request, const net::WebSocketOffer& offer) {
    auto principal = authenticate(request);
    if (!principal) return refuse_head(request);
    auto answer = services_.events.upgrade(request, offer, std::move(*principal));
    if (!answer) return std::nullopt;
    if (auto* const accepted = std::get_if<net::AcceptUpgrade>(&*answer)) accepted->options.close_timeout = std::min(accepted->options.close_timeout, kCloseWithin);
    return answer;
}

Task<void> PeerService::serve(net::HttpExchange& exchange) {
    const auto principal = authenticate(exchange.request());
    if (!principal) {  // trusted no more since its head was read
        exchange.close_when_done();
        exchange.respond_error(403, "FORBIDDEN", principal.error().message);
        co_return;
    }
    if (exchange.request().path() == "/healthz") {
        rtp::serve_health(exchange, exchange.request().method(), stopping_);
        co_return;
    }
    if (const std::string_view action = rtp::PeersApi::action_of(exchange.request()); !action.empty()) {
        co_await serve_records(exchange, **principal, action);
        co_return;
    }
    if (co_await services_.events.serve(exchange, *principal)) co_return;
    if (!co_await services_.leases.serve(exchange, *principal)) rtp::respond_unknown_path(exchange);
}

Task<void> PeerService::serve_records(net::HttpExchange& exchange, const core::Principal& principal, std::string_view action) {
    const auto decision = services_.access.decide(principal, action, {}, exchange.request().find("crab-lease").value_or(""));
    if (!decision.allowed()) {
        exchange.respond_error(403, "FORBIDDEN", fmt::format("{} may not do {} ({})", principal.id, action, decision.rule));
        co_return;
    }
    co_await services_.records.serve(exchange);
}

}  // namespace crab::app
