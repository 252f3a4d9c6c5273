#include "adapters/rtp/peers_api.hpp"

#include "adapters/rtp/peers_wire.hpp"
#include "base/encoding.hpp"
#include "base/log.hpp"
#include "net/codec/url.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kPeers = "/v1/peers/";

void refuse(net::HttpExchange& exchange, const trust::PairingError& error) { exchange.respond_error(http_status(error.code), token_of(error.code), error.message); }

/// What a store said no to.
void refuse(net::HttpExchange& exchange, const Error& error) {
    const int status = error.code == ErrorCode::kNotFound ? 404 : error.code == ErrorCode::kConflict ? 409 : error.code == ErrorCode::kUnavailable ? 503 : 500;
    exchange.respond_error(status, token_of(error.code), error.message);
}

void respond_peer(net::HttpExchange& exchange, const trust::PeerRecord& peer) {
    json::Writer writer(exchange.begin_response(200, kJson));
    append_peer(writer, peer);
    exchange.finish_response();
}

void respond_unknown(net::HttpExchange& exchange) { exchange.respond_error(404, "NOT_FOUND", "no such peer; crab peers list shows them all"); }

bool allows(net::HttpExchange& exchange, std::string_view method) {
    if (exchange.request().method() == method) return true;
    exchange.respond_error(405, "INVALID_ARGS", fmt::format("use {}", method), {{"Allow", method}});
    return false;
}

}  // namespace

/// One admin client's WebSocket: a question, an answer, the end.
class PeersApi::Socket final : public net::WebSocketHandler, public std::enable_shared_from_this<Socket> {
public:
    explicit Socket(PeersApi& api) : api_(api) {}

    void on_open(net::WebSocketSession& session) override { session_ = session.shared_from_this(); }
    void on_text(net::WebSocketSession&, std::span<char> text) override {
        if (std::exchange(asked_, true) || api_.stopping_) return;
        api_.tasks_.spawn("pairing over a WebSocket", api_.pair_over(shared_from_this(), std::string(text.data(), text.size())));
    }
    void on_closed(net::WebSocketSession&, const net::CloseInfo&) override { session_.reset(); }
    void answer(std::string_view text) {
        if (!session_) return;
        session_->send_text(text);
        session_->close(1000, {});
    }

private:
    PeersApi& api_;
    std::shared_ptr<net::WebSocketSession> session_;  // while it is open
    bool asked_ = false;
};

std::optional<net::Upgrade> PeersApi::upgrade(const net::HttpRequest& request) {
    if (request.path() != "/v1/pairings/ws") return std::nullopt;
    return net::AcceptUpgrade{.handler = std::make_shared<Socket>(*this), .options = {.max_message_bytes = 64 * 1024}};
}

Task<bool> PeersApi::serve(net::HttpExchange& exchange) {
    const std::string_view path = exchange.request().path();
    if (path == "/v1/identity") {
        if (allows(exchange, "GET")) identity(exchange);
    } else if (path == "/v1/pairings") {
        if (allows(exchange, "POST")) co_await pair(exchange);
    } else if (path == "/v1/pairings/ws") {
        if (allows(exchange, "GET")) exchange.respond_error(426, "INVALID_ARGS", "this is a WebSocket", {{"Upgrade", "websocket"}});
    } else if (path == "/v1/peers") {
        if (allows(exchange, "GET")) co_await list(exchange);
    } else if (path.starts_with(kPeers)) {
        co_await peer_routes(exchange, path.substr(kPeers.size()));
    } else {
        co_return false;
    }
    co_return true;
}

Task<void> PeersApi::pair(net::HttpExchange& exchange) {
    auto request = parse_pairing(exchange.request().body);
    if (!request) {
        refuse(exchange, request.error());
        co_return;
    }
    exchange.keep_running_when_caller_leaves();
    const auto paired = co_await dialer_.pair(std::move(*request));
    if (!paired) {
        refuse(exchange, paired.error());
        co_return;
    }
    json::Writer writer(exchange.begin_response(200, kJson));
    append_paired(writer, *paired);
    exchange.finish_response();
}

Task<void> PeersApi::pair_over(std::shared_ptr<Socket> socket, std::string text) {
    auto request = parse_pair_start(text);
    if (!request) {
        socket->answer(pair_result(std::unexpected(request.error())));
        co_return;
    }
    const auto outcome = co_await dialer_.pair(std::move(*request));
    socket->answer(pair_result(outcome));
}

void PeersApi::identity(net::HttpExchange& exchange) {
    json::Writer writer(exchange.begin_response(200, kJson));
    const trust::GatewayKeys& keys = services_.keys;
    writer.begin_object().key("gateway_id").string(keys.identity.gateway_id);
    writer.key("public_key_ed25519").string(to_base64(keys.identity.key.public_key()));
    writer.key("ca_fingerprint").string(keys.authority.certificate().fingerprint()).end_object();
    exchange.finish_response();
}

Task<void> PeersApi::list(net::HttpExchange& exchange) {
    auto read = [&store = services_.store] { return store.list_peers(); };
    const auto peers = co_await services_.pool.run(std::move(read));
    if (!peers) {
        refuse(exchange, peers.error());
        co_return;
    }
    json::Writer writer(exchange.begin_response(200, kJson));
    writer.begin_object().key("peers").begin_array();
    for (const trust::PeerRecord& peer : *peers) append_peer(writer, peer);
    writer.end_array().end_object();
    exchange.finish_response();
}

/// `{type}/{id}`, `{type}/{id}/renew`, `{type}/{id}/revoke`.
Task<void> PeersApi::peer_routes(net::HttpExchange& exchange, std::string_view rest) {
    const std::size_t slash = rest.find('/');
    const std::size_t second = slash == std::string_view::npos ? slash : rest.find('/', slash + 1);
    const auto type = trust::find_component_type(rest.substr(0, slash));
    const auto id = slash == std::string_view::npos ? std::nullopt : net::percent_decode(rest.substr(slash + 1, second - slash - 1));
    const std::string_view verb = second == std::string_view::npos ? std::string_view() : rest.substr(second);
    if (!type || !id || !trust::is_component_id(*id) || (!verb.empty() && verb != "/renew" && verb != "/revoke")) {
        respond_unknown(exchange);
        co_return;
    }
    trust::PeerName name{*type, *id};
    const std::string_view method = exchange.request().method();
    if (verb == "/renew") {
        if (allows(exchange, "POST")) co_await renew(exchange, std::move(name));
    } else if (verb == "/revoke") {
        if (allows(exchange, "POST")) co_await revoke(exchange, std::move(name));
    } else if (method == "GET") {
        co_await show(exchange, std::move(name));
    } else if (method == "PATCH") {
        co_await change(exchange, std::move(name));
    } else {
        exchange.respond_error(405, "INVALID_ARGS", "use GET or PATCH", {{"Allow", "GET, PATCH"}});
    }
}

Task<void> PeersApi::show(net::HttpExchange& exchange, trust::PeerName name) {
    auto read = [&store = services_.store, name = std::move(name)] { return store.find_peer(name); };
    const auto peer = co_await services_.pool.run(std::move(read));
    if (!peer) {
        refuse(exchange, peer.error());
    } else if (!*peer) {
        respond_unknown(exchange);
    } else {
        respond_peer(exchange, **peer);
    }
}

Task<void> PeersApi::change(net::HttpExchange& exchange, trust::PeerName name) {
    auto wanted = parse_peer_change(exchange.request().body);
    if (!wanted) {
        refuse(exchange, wanted.error());
        co_return;
    }
    // The status may be refused, the URL may not: so nothing is half done but by a failing disk.
    auto work = [&store = services_.store, name = std::move(name), wanted = std::move(*wanted)]() -> Result<trust::PeerRecord> {
        Result<trust::PeerRecord> peer = fail(ErrorCode::kInternal, "nothing changes");
        if (wanted.status) peer = store.set_status(name, *wanted.status);
        if (wanted.status && !peer) return peer;
        return wanted.tool_url ? store.set_tool_url(name, *wanted.tool_url) : peer;
    };
    const auto peer = co_await services_.pool.run(std::move(work));
    peer ? respond_peer(exchange, *peer) : refuse(exchange, peer.error());
}

Task<void> PeersApi::renew(net::HttpExchange& exchange, trust::PeerName name) {
    if (const auto empty = parse_nothing(exchange.request().body); !empty) {
        refuse(exchange, empty.error());
        co_return;
    }
    auto read = [&store = services_.store, name] { return store.find_peer(name); };
    const auto known = co_await services_.pool.run(std::move(read));
    if (!known || !*known) {
        known ? respond_unknown(exchange) : refuse(exchange, known.error());
        co_return;
    }
    exchange.keep_running_when_caller_leaves();
    trust::PairingRequest request{.name = std::move(name), .kind = trust::PairingRequest::Kind::kRenew};
    const auto renewed = co_await dialer_.pair(std::move(request));
    renewed ? respond_peer(exchange, renewed->peer) : refuse(exchange, renewed.error());
}

Task<void> PeersApi::revoke(net::HttpExchange& exchange, trust::PeerName name) {
    auto reason = parse_revocation(exchange.request().body);
    if (!reason) {
        refuse(exchange, reason.error());
        co_return;
    }
    log::info("revoking a peer", {{"peer_id", name.text()}});
    auto work = [&store = services_.store, name = std::move(name), reason = std::move(*reason), now = services_.loop.clock().system_now()] {
        return store.revoke(name, reason, now);
    };
    const auto peer = co_await services_.pool.run(std::move(work));
    peer ? respond_peer(exchange, *peer) : refuse(exchange, peer.error());
}

}  // namespace crab::rtp
