#include "adapters/rtp/pairing/peers_api.hpp"

#include "adapters/rtp/pairing/peers_wire.hpp"
#include "base/encoding.hpp"
#include "base/log.hpp"
#include "net/codec/http_text.hpp"

#include <utility>

namespace crab::rtp {
namespace {

constexpr std::string_view kPeerPath = "/v1/peers/{component_type}/{component_id}";

/// What a store said no to.
void refuse(net::HttpExchange& exchange, const Error& error) {
    const int status = error.code == ErrorCode::kNotFound      ? 404
                       : error.code == ErrorCode::kConflict    ? 409
                       : error.code == ErrorCode::kUnavailable ? 503
                                                               : 500;
    exchange.respond_error(status, token_of(error.code), error.message);
}

}  // namespace

void PeersApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/identity",
                .summary = "Who this gateway is to its peers",
                .action = "control.peers:identity",
                .answers = {{200, "identity"}}},
               [this](const PeerRequest& request) { identity(request.exchange); });
    routes.add({.path = "/v1/peers",
                .summary = "The peers that are known",
                .action = "control.peers:list",
                .answers = {{200, "peer_list"}}},
               [this](const PeerRequest& request) { list(request.exchange); });
    routes.add({.path = kPeerPath,
                .summary = "One peer",
                .action = "control.peers:show",
                .answers = {{200, "peer"}},
                .refusals = {404}},
               [this](const PeerRequest& request) { show(request); });
    routes.add({.method = net::Method::kPatch,
                .path = kPeerPath,
                .summary = "Change a peer's status or the URL of its tools",
                .action = "control.peers:change",
                .request = "peer_change",
                .answers = {{200, "peer"}},
                .refusals = {400, 404, 409, 503}},
               [this](const PeerRequest& request) { return change(request); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/peers/{component_type}/{component_id}/revoke",
                .summary = "Revoke a peer",
                .action = "control.peers:revoke",
                .request = "peer_revocation",
                .answers = {{200, "peer"}},
                .refusals = {400, 404, 503}},
               [this](const PeerRequest& request) { return revoke(request); });
}

void PeersApi::identity(net::HttpExchange& exchange) {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    const trust::GatewayKeys& keys = services_.keys;
    writer.begin_object().key("gateway_id").string(keys.identity.gateway_id);
    writer.key("public_key_ed25519").string(to_base64(keys.identity.key.public_key()));
    writer.key("ca_fingerprint").string(keys.authority.certificate().fingerprint()).end_object();
    exchange.finish_response();
}

void PeersApi::list(net::HttpExchange& exchange) {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("peers").begin_array();
    for (const trust::Peers::Known& peer : services_.peers.list())
        append_peer(writer, peer.record, peer.problem);
    writer.end_array().end_object();
    exchange.finish_response();
}

void PeersApi::show(const PeerRequest& request) {
    const auto name = named_peer(request.exchange, request.arguments);
    if (!name) return;
    const auto peer = services_.peers.show(*name);
    peer ? respond_peer(request.exchange, peer->record, peer->problem)
         : respond_unknown_peer(request.exchange);
}

Task<void> PeersApi::change(const PeerRequest& request) {
    net::HttpExchange& exchange = request.exchange;
    auto name = named_peer(exchange, request.arguments);
    if (!name) co_return;
    auto wanted = parse_peer_change(exchange.request().body);
    if (!wanted) {
        refuse_pairing(exchange, wanted.error());
        co_return;
    }
    // The status may be refused, the URL may not: so nothing is half done but by a failing disk.
    auto work = [&peers = services_.peers, name = std::move(*name),
                 wanted = std::move(*wanted)]() -> Result<trust::PeerRecord> {
        Result<trust::PeerRecord> peer = fail(ErrorCode::kInternal, "nothing changes");
        if (wanted.status) peer = peers.set_status(name, *wanted.status);
        if (wanted.status && !peer) return peer;
        return wanted.tool_url ? peers.set_tool_url(name, *wanted.tool_url) : peer;
    };
    const auto peer = co_await services_.pool.run(std::move(work));
    peer ? respond_peer(exchange, *peer) : refuse(exchange, peer.error());
}

Task<void> PeersApi::revoke(const PeerRequest& request) {
    net::HttpExchange& exchange = request.exchange;
    auto name = named_peer(exchange, request.arguments);
    if (!name) co_return;
    auto reason = parse_revocation(exchange.request().body);
    if (!reason) {
        refuse_pairing(exchange, reason.error());
        co_return;
    }
    log::info("revoking a peer", {{"peer_id", name->text()}});
    auto work = [&peers = services_.peers, name = std::move(*name), reason = std::move(*reason),
                 now = services_.clock.system_now()] { return peers.revoke(name, reason, now); };
    const auto peer = co_await services_.pool.run(std::move(work));
    peer ? respond_peer(exchange, *peer) : refuse(exchange, peer.error());
}

}  // namespace crab::rtp
