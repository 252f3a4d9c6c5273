#include "adapters/rtp/pairing/peers_api.hpp"

#include "adapters/rtp/pairing/peers_wire.hpp"
#include "base/encoding.hpp"
#include "base/log.hpp"

#include <utility>

namespace crab::rtp {
namespace {

constexpr std::string_view kJson = "application/json";

/// What a store said no to.
void refuse(net::HttpExchange& exchange, const Error& error) {
    const int status = error.code == ErrorCode::kNotFound      ? 404
                       : error.code == ErrorCode::kConflict    ? 409
                       : error.code == ErrorCode::kUnavailable ? 503
                                                               : 500;
    exchange.respond_error(status, token_of(error.code), error.message);
}

}  // namespace

std::string_view PeersApi::action_of(const net::HttpRequest& request) {
    if (request.path() == "/v1/identity") return "control.peers:identity";
    if (request.path() == "/v1/peers") return "control.peers:list";
    const auto route = parse_peer_path(request.path());
    if (!route) return {};
    switch (route->verb) {
        case PeerPath::Verb::kRecord:
            return request.method() == "PATCH" ? "control.peers:change" : "control.peers:show";
        case PeerPath::Verb::kRevoke: return "control.peers:revoke";
        case PeerPath::Verb::kRenew: break;
    }
    return {};
}

Task<bool> PeersApi::serve(net::HttpExchange& exchange) {
    const std::string_view path = exchange.request().path();
    if (path == "/v1/identity") {
        if (allows(exchange, "GET")) identity(exchange);
        co_return true;
    }
    if (path == "/v1/peers") {
        if (allows(exchange, "GET")) list(exchange);
        co_return true;
    }
    const auto route = parse_peer_path(path);
    if (!route || route->verb == PeerPath::Verb::kRenew) co_return false;
    const std::string_view method = exchange.request().method();
    if (route->verb == PeerPath::Verb::kRevoke) {
        if (allows(exchange, "POST")) co_await revoke(exchange, route->name);
    } else if (method == "GET") {
        show(exchange, route->name);
    } else if (method == "PATCH") {
        co_await change(exchange, route->name);
    } else {
        exchange.respond_error(405, "INVALID_ARGS", "use GET or PATCH", {{"Allow", "GET, PATCH"}});
    }
    co_return true;
}

void PeersApi::identity(net::HttpExchange& exchange) {
    json::Writer writer(exchange.begin_response(200, kJson));
    const trust::GatewayKeys& keys = services_.keys;
    writer.begin_object().key("gateway_id").string(keys.identity.gateway_id);
    writer.key("public_key_ed25519").string(to_base64(keys.identity.key.public_key()));
    writer.key("ca_fingerprint").string(keys.authority.certificate().fingerprint()).end_object();
    exchange.finish_response();
}

void PeersApi::list(net::HttpExchange& exchange) {
    json::Writer writer(exchange.begin_response(200, kJson));
    writer.begin_object().key("peers").begin_array();
    for (const trust::Peers::Known& peer : services_.peers.list())
        append_peer(writer, peer.record, peer.problem);
    writer.end_array().end_object();
    exchange.finish_response();
}

void PeersApi::show(net::HttpExchange& exchange, const trust::PeerName& name) {
    const auto peer = services_.peers.show(name);
    peer ? respond_peer(exchange, peer->record, peer->problem) : respond_unknown_peer(exchange);
}

Task<void> PeersApi::change(net::HttpExchange& exchange, trust::PeerName name) {
    auto wanted = parse_peer_change(exchange.request().body);
    if (!wanted) {
        refuse_pairing(exchange, wanted.error());
        co_return;
    }
    // The status may be refused, the URL may not: so nothing is half done but by a failing disk.
    auto work = [&peers = services_.peers, name = std::move(name),
                 wanted = std::move(*wanted)]() -> Result<trust::PeerRecord> {
        Result<trust::PeerRecord> peer = fail(ErrorCode::kInternal, "nothing changes");
        if (wanted.status) peer = peers.set_status(name, *wanted.status);
        if (wanted.status && !peer) return peer;
        return wanted.tool_url ? peers.set_tool_url(name, *wanted.tool_url) : peer;
    };
    const auto peer = co_await services_.pool.run(std::move(work));
    peer ? respond_peer(exchange, *peer) : refuse(exchange, peer.error());
}

Task<void> PeersApi::revoke(net::HttpExchange& exchange, trust::PeerName name) {
    auto reason = parse_revocation(exchange.request().body);
    if (!reason) {
        refuse_pairing(exchange, reason.error());
        co_return;
    }
    log::info("revoking a peer", {{"peer_id", name.text()}});
    auto work = [&peers = services_.peers, name = std::move(name), reason = std::move(*reason),
                 now = services_.clock.system_now()] { return peers.revoke(name, reason, now); };
    const auto peer = co_await services_.pool.run(std::move(work));
    peer ? respond_peer(exchange, *peer) : refuse(exchange, peer.error());
}

}  // namespace crab::rtp
