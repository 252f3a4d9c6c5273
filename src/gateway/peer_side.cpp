#include "gateway/peer_side.hpp"

#include "base/log.hpp"
#include "trust/pairing/peer_check.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::chrono::minutes kStoreEvery{1};
constexpr std::size_t kMostConnections = 256;
constexpr std::uint16_t kRevoked = 4403, kServiceRestart = 1012;

/// What the gateway shows and demands with an operator-made CA (section 5.1); null without one.
Result<std::shared_ptr<net::TlsContext>> make_operator_tls(const config::PairingOptions& pairing) {
    if (pairing.ca.empty()) return nullptr;
    net::TlsContext::Options options;
    options.role = net::TlsContext::Role::kClient;
    options.versions = net::TlsContext::Versions::k13Only;
    options.peer_check = net::TlsContext::PeerCheck::kChainAndName;
    options.certificate.file = pairing.cert;
    options.key.file = pairing.key;
    options.ca.file = pairing.ca;
    auto made = net::TlsContext::make(std::move(options));
    if (!made)
        return fail(ErrorCode::kInvalidArgs, fmt::format("pairing: {}", made.error().message));
    return made;
}

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

Result<std::unique_ptr<PeerSide>> PeerSide::open(const std::filesystem::path& state_dir,
                                                 const config::GatewayConfig& config,
                                                 Services services) {
    auto store = store::sqlite::PeerStoreSqlite::open(state_dir / "trust.db",
                                                      {.check = store::sqlite::StartCheck::kNone});
    if (!store) return fail(std::move(store.error()));
    auto peers = trust::Peers::load(**store);
    if (!peers) return fail(std::move(peers.error()));
    const auto folder = crypto::KeyFolder::open(state_dir);
    if (!folder) return fail(folder.error());
    auto keys = trust::GatewayKeys::load_or_make(*folder, config.gateway.name,
                                                 services.clock.system_now(), services.random);
    if (!keys) return fail(std::move(keys.error()));
    auto operator_tls = make_operator_tls(config.pairing);
    if (!operator_tls) return fail(std::move(operator_tls.error()));
    return std::unique_ptr<PeerSide>(new PeerSide(config, services, std::move(*store),
                                                  std::move(*peers), std::move(*keys),
                                                  std::move(*operator_tls)));
}

PeerSide::PeerSide(const config::GatewayConfig& config, Services services,
                   std::unique_ptr<store::sqlite::PeerStoreSqlite> store,
                   std::unique_ptr<trust::Peers> peers, trust::GatewayKeys keys,
                   std::shared_ptr<net::TlsContext> operator_tls)
    : config_(config),
      services_(services),
      store_(std::move(store)),
      peers_(std::move(peers)),
      keys_(std::move(keys)),
      tls_(keys_, services_.clock),
      operator_tls_(std::move(operator_tls)),
      records_api_(
          {.peers = *peers_, .keys = keys_, .pool = services_.pool, .clock = services_.clock}) {}

void PeerSide::begin(net::EventLoop& loop, rtp::HostDirectory& hosts) {
    loop_ = &loop;
    peers_->on_change([this](const trust::PeerChange& change) { on_change(change); });
    const auto told = [this](const rtp::PairingNews& news) {
        record(rtp::event_type_of(news.kind), news.remote, [&](json::Writer& writer) {
            writer.key("pairing");
            rtp::append_pairing_payload(writer, news);
        });
        if (told_) told_(news);
    };
    const trust::PairingRules rules{
        .allow_insecure_loopback = config_.pairing.allow_insecure_loopback,
        .has_operator_ca = operator_tls_ != nullptr};
    dialer_ = std::make_unique<rtp::PairingDialer>(
        rtp::PairingDialer::Services{.loop = loop,
                                     .pool = services_.pool,
                                     .names = services_.names,
                                     .keys = keys_,
                                     .store = *peers_,
                                     .random = services_.random,
                                     .tls = tls_,
                                     .rules = rules,
                                     .operator_tls = operator_tls_,
                                     .told = told});
    pairings_api_ = std::make_unique<rtp::PairingsApi>(loop, *dialer_, *peers_);
    const auto renew = [this](trust::PeerName name) -> Task<bool> {
        trust::PairingRequest request{.name = std::move(name),
                                      .kind = trust::PairingRequest::Kind::kRenew};
        const auto renewed =
            co_await dialer_->pair(std::move(request), rtp::PairingInitiator::kRenewal);
        co_return renewed.has_value();
    };
    renewals_ = std::make_unique<rtp::PeerRenewals>(loop, *peers_, renew);
    rtp::PeerHosts::Options options{
        .always = {},
        .max_reply_bytes =
            std::min(config_.limits.result_bytes, rtp::RtpHost::Options{}.max_reply_bytes)};
    constexpr std::string_view kType = "tool_host/";
    for (const config::ToolHostOptions& host : config_.hosts) {
        if (host.peer.starts_with(kType))
            options.always.insert(
                {trust::ComponentType::kToolHost, host.peer.substr(kType.size())});
    }
    const rtp::PeerRoute::Services route{.peers = *peers_,
                                         .tls = tls_,
                                         .ca = keys_.authority.certificate(),
                                         .pool = services_.pool,
                                         .names = services_.names,
                                         .on_mismatch = mismatch_recorder()};
    hosts_ = std::make_unique<rtp::PeerHosts>(hosts, route, std::move(options));
    hosts_->start();
}

PeerCertificates::Services PeerSide::certificates() {
    return {.peers = *peers_,
            .ca = keys_.authority.certificate(),
            .clock = services_.clock,
            .pool = services_.pool,
            .on_mismatch = mismatch_recorder()};
}

Result<void> PeerSide::listen(rtp::EventServices events, const trust::Access& access,
                              rtp::LeasesApi& leases, admin::ApprovalsApi& approvals) {
    if (!config_.listen.peers) return {};
    auto tls = tls_.server();
    if (!tls) return fail(std::move(tls.error()));
    auto listener = net::Listener::bind(
        net::Endpoint::tcp(config_.listen.peers->host, config_.listen.peers->port));
    if (!listener) return fail(std::move(listener.error()));
    listener_ = std::move(*listener);
    events_ = std::make_unique<rtp::EventsApi>(*loop_, events);
    service_ = std::make_unique<PeerService>(PeerService::Services{.certificates = certificates(),
                                                                   .access = access,
                                                                   .records = records_api_,
                                                                   .events = *events_,
                                                                   .leases = leases,
                                                                   .approvals = approvals,
                                                                   .budgets = services_.budgets});
    net::HttpServerOptions options;
    options.max_connections = kMostConnections;
    options.tls = std::move(*tls);
    options.connection.max_queued_bytes = config_.limits.outgoing_queue_bytes;
    options.connection.stall = std::chrono::duration_cast<Milliseconds>(config_.limits.slow_reader);
    server_ = std::make_unique<net::HttpServer>(*loop_, *service_, std::move(options));
    return server_->listen(*listener_);
}

void PeerSide::start() {
    renewals_->start();
    storing_ = std::make_unique<net::Periodic>(
        *loop_, std::chrono::duration_cast<Milliseconds>(kStoreEvery), [this] {
            // The listener shows the gateway's own certificate, which is remade when somebody asks
            // for it.
            if (const auto fresh = tls_.server(); !fresh)
                log::warn("the gateway's own certificate was not made",
                          {{"reason", fresh.error().message}});
            services_.pool.post([this] { flush(); });
        });
}

void PeerSide::flush() {
    if (const auto stored = peers_->store_seen(); !stored)
        log::warn("when peers were seen was not stored", {{"reason", stored.error().message}});
}

void PeerSide::stop_accepting() {
    if (service_) service_->stop();
    if (server_) server_->stop_accepting();
}

void PeerSide::stop(std::function<void()> done) {
    storing_.reset();
    auto last = [this, done = std::move(done)]() mutable {
        server_ ? server_->stop(std::move(done)) : done();
    };
    auto streams = [this, last = std::move(last)]() mutable {
        events_ ? events_->stop(std::move(last)) : last();
    };
    auto pairings = [this, streams = std::move(streams)]() mutable {
        pairings_api_->stop(std::move(streams));
    };
    renewals_->stop(std::move(pairings));
}

/// On the thread that made the change.
void PeerSide::on_change(const trust::PeerChange& change) {
    log::info("peer changed", {{"peer_id", change.peer->name.text()},
                               {"what", word_for(change.kind)},
                               {"status", to_text(change.peer->status)}});
    record(word_for(change.kind), change.peer->name, [&](json::Writer& writer) {
        writer.key("status").string(to_text(change.peer->status));
        writer.key("serial_number").string(change.peer->serial_number);
    });
    if (!change.ends_connections()) return;
    loop_->post([this, change] { end_connections(change); });
}

/// What the peer still proves stays: a renewal ends only what the old certificate proved.
void PeerSide::end_connections(const trust::PeerChange& change) {
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

std::function<void(const trust::PeerName&, std::string_view)> PeerSide::mismatch_recorder() {
    return [this](const trust::PeerName& peer, std::string_view problem) {
        const auto members = [&](json::Writer& writer) {
            writer.key("problem").string_lossy(problem);
        };
        if (record("peer.mismatch", peer, members))
            log::warn("a connection is not its peer's",
                      {{"peer_id", peer.text()}, {"reason", problem}});
    };
}

bool PeerSide::record(std::string_view kind, const trust::PeerName& peer,
                      const std::function<void(json::Writer&)>& members) {
    const std::string by = peer.text();
    return services_.audit.append_event({.kind = kind, .by = by}, [&](json::Writer& writer) {
        writer.key("peer_id").string(by);
        members(writer);
    });
}

}  // namespace crab::gateway
