#include "gateway/listeners/peer_listener.hpp"

#include "base/log.hpp"
#include "gateway/context/inherited_sockets.hpp"
#include "trust/pairing/peer_check.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::chrono::minutes kStoreEvery{1};
constexpr std::size_t kMostConnections = 256;
constexpr std::uint16_t kRevoked = 4403, kServiceRestart = 1012;

std::string_view word_for(trust::PeerChange::Kind kind) {
    switch (kind) {
        case trust::PeerChange::Kind::kPaired: return "peer.paired";
        case trust::PeerChange::Kind::kRenewed: return "peer.renewed";
        case trust::PeerChange::Kind::kStatus: return "peer.status";
        case trust::PeerChange::Kind::kToolUrl: return "peer.tool_url";
        case trust::PeerChange::Kind::kRevoked: return "peer.revoked";
    }
    return {};
}

}  // namespace

std::span<const ConfigKey> PeerListener::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("listen.peers", [](auto& c) -> auto& { return c.listen.peers; })};
    return kKeys;
}

Result<void> PeerListener::start() {
    trust::Peers& peers = uses_.records.peers();
    peers.on_change(uses_.access.on_peer_changed());
    peers.on_change([this](const trust::PeerChange& change) { on_change(change); });
    make_pairing();
    make_hosts();
    return config().listen.peers ? listen() : Result<void>();
}

void PeerListener::make_pairing() {
    PeerRecords& records = uses_.records;
    net::EventLoop& loop = uses_.loops.first();
    const auto told = [this,
                       also = uses_.events.pairing_witness()](const rtp::PairingUpdate& news) {
        uses_.records.record(rtp::event_type_of(news.kind), news.remote, [&](json::Writer& writer) {
            writer.key("pairing");
            rtp::append_pairing_payload(writer, news);
        });
        also(news);
    };
    const trust::PairingRules rules{
        .allow_insecure_loopback = config().pairing.allow_insecure_loopback,
        .has_operator_ca = records.operator_tls() != nullptr};
    dialer_ = std::make_unique<rtp::PairingDialer>(
        rtp::PairingDialer::Services{.loop = loop,
                                     .pool = uses_.workers.pool(),
                                     .names = uses_.workers.names(),
                                     .keys = records.keys_of_gateway(),
                                     .store = records.peers(),
                                     .random = records.random(),
                                     .tls = records.tls(),
                                     .rules = rules,
                                     .operator_tls = records.operator_tls(),
                                     .told = told});
    pairings_api_ = std::make_unique<rtp::PairingsApi>(loop, *dialer_, records.peers());
    const auto renew = [this](trust::PeerName name) -> Task<bool> {
        trust::PairingRequest request{.name = std::move(name),
                                      .kind = trust::PairingRequest::Kind::kRenew};
        const auto renewed =
            co_await dialer_->pair(std::move(request), rtp::PairingInitiator::kRenewal);
        co_return renewed.has_value();
    };
    renewals_ = std::make_unique<rtp::PeerRenewals>(loop, records.peers(), renew);
}

void PeerListener::make_hosts() {
    PeerRecords& records = uses_.records;
    rtp::PeerHosts::Options options{
        .always = {},
        .max_reply_bytes =
            std::min(config().limits.result_bytes, rtp::RtpHost::Options{}.max_reply_bytes)};
    constexpr std::string_view kType = "tool_host/";
    for (const config::ToolHostOptions& host : config().hosts) {
        if (host.peer.starts_with(kType))
            options.always.insert(
                {trust::ComponentType::kToolHost, host.peer.substr(kType.size())});
    }
    const rtp::PeerRoute::Services route{.peers = records.peers(),
                                         .tls = records.tls(),
                                         .ca = records.keys_of_gateway().authority.certificate(),
                                         .pool = uses_.workers.pool(),
                                         .names = uses_.workers.names(),
                                         .on_mismatch = records.mismatch_recorder()};
    hosts_ = std::make_unique<rtp::PeerHosts>(uses_.hosts.directory(), route, std::move(options));
    hosts_->start();
}

Result<void> PeerListener::listen() {
    net::EventLoop& loop = uses_.loops.first();
    const config::HostPort& address = *config().listen.peers;
    auto tls = uses_.records.tls().server();
    if (!tls) return fail(std::move(tls.error()));
    auto listener =
        uses_.context.sockets.listen("peers", net::Endpoint::tcp(address.host, address.port));
    if (!listener) return fail(std::move(listener.error()));
    listener_ = std::move(*listener);
    trust::PeerAccess& access = uses_.access.access();
    service_ = std::make_unique<PeerService>(
        PeerService::Services{.certificates = uses_.records.certificates(),
                              .access = access,
                              .budgets = uses_.context.budgets});
    net::HttpServerOptions options;
    options.proven_at_open = true;
    options.max_connections = kMostConnections;
    options.tls = std::move(*tls);
    options.connection.max_queued_bytes = config().limits.outgoing_queue_bytes;
    options.connection.stall =
        std::chrono::duration_cast<Milliseconds>(config().limits.slow_reader);
    server_ = std::make_unique<net::HttpServer>(loop, *service_, std::move(options));
    return server_->listen(*listener_);
}

std::vector<ListenerRoutes> PeerListener::tables() {
    if (!service_) return {};
    return {{.kind = ListenerKind::kPeers,
             .loop = 0,
             .routes = service_->routes(),
             .metrics = service_->metrics()}};
}

void PeerListener::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin) pairings_api_->add_routes(table.routes);
}

void PeerListener::begin() {
    uses_.loops.first().post([this] {
        renewals_->start();
        storing_ = std::make_unique<net::Periodic>(
            uses_.loops.first(), std::chrono::duration_cast<Milliseconds>(kStoreEvery), [this] {
                // The listener shows the gateway's own certificate, which is remade when somebody
                // asks for it.
                if (const auto fresh = uses_.records.tls().server(); !fresh)
                    log::warn("the gateway's own certificate was not made",
                              {{"reason", fresh.error().message}});
                uses_.workers.pool().post([this] { uses_.records.flush(); });
            });
    });
}

void PeerListener::drain() {
    uses_.loops.first().post([this] {
        if (service_) service_->stop();
        if (server_) server_->stop_accepting();
    });
}

void PeerListener::stop(Deadline deadline) {
    // pairings end as soon as they are cancelled, but for a commit that runs
    uses_.loops.finish(uses_.loops.first(), deadline,
                       [this](std::function<void()> done) { stop_all(std::move(done)); });
    listener_.reset();
}

void PeerListener::stop_all(std::function<void()> done) {
    storing_.reset();
    auto last = [this, done = std::move(done)]() mutable {
        server_ ? server_->stop(std::move(done)) : done();
    };
    auto pairings = [this, last = std::move(last)]() mutable {
        pairings_api_->stop(std::move(last));
    };
    renewals_->stop(std::move(pairings));
}

/// On the thread that made the change.
void PeerListener::on_change(const trust::PeerChange& change) {
    log::info("peer changed", {{"peer_id", change.peer->name.text()},
                               {"what", word_for(change.kind)},
                               {"status", to_text(change.peer->status)}});
    uses_.records.record(word_for(change.kind), change.peer->name, [&](json::Writer& writer) {
        writer.key("status").string(to_text(change.peer->status));
        writer.key("serial_number").string(change.peer->serial_number);
    });
    if (!change.ends_connections()) return;
    uses_.loops.first().post([this, change] { end_connections(change); });
}

/// What the peer still proves stays: a renewal ends only what the old certificate proved.
void PeerListener::end_connections(const trust::PeerChange& change) {
    if (!server_) return;
    const auto is_untrusted = [&](const net::Connection& connection) {
        const auto leaf = crypto::Certificate::from_der(connection.peer_certificate_der());
        if (!leaf) return false;
        const auto name = trust::peer_name_in(*leaf);
        if (!name || *name != change.peer->name) return false;
        return !change.is_active() ||
               !crypto::same_fingerprint(leaf->fingerprint(), change.peer->mtls_cert_fingerprint);
    };
    if (change.is_active())
        return server_->end_connections(is_untrusted, kServiceRestart,
                                        "the certificate was replaced; come back with the new one");
    server_->end_connections(is_untrusted, kRevoked,
                             fmt::format("the peer is {}", to_text(change.peer->status)));
}

}  // namespace crab::gateway
