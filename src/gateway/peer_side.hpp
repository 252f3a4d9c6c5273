#pragma once

#include "adapters/rtp/hosts/peer_hosts.hpp"
#include "adapters/rtp/pairing/pairings_api.hpp"
#include "adapters/rtp/pairing/peer_renewals.hpp"
#include "config/gateway_config.hpp"
#include "core/audit/audit_log.hpp"
#include "gateway/peer_certificates.hpp"
#include "gateway/peer_service.hpp"
#include "net/http/http_server.hpp"
#include "net/http/name_lookups.hpp"
#include "net/loop/listener.hpp"
#include "net/loop/periodic.hpp"
#include "store/sqlite/peer_store_sqlite.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace crab::gateway {

/// All about paired peers, wired: their records and certificates, pairing, the hosts among them,
/// the listener for them. What happens to them is in the audit trail.
class PeerSide {
public:
    /// What outlives it.
    struct Services {
        const Clock& clock;
        BlockingPool& pool;
        net::NameLookups& names;
        crypto::RandomSource& random;
        core::AuditLog& audit;
        ByteBudgets& budgets;   ///< by principal
    };
    /// Opens the records in `trust.db`, which has been checked before, and reads or makes the keys
    /// beside it. Errors: those of the store and of the keys' files; kInvalidArgs for an
    /// operator-made CA that cannot be used.
    static Result<std::unique_ptr<PeerSide>> open(const std::filesystem::path& state_dir,
                                                  const config::GatewayConfig& config,
                                                  Services services);
    PeerSide(const PeerSide&) = delete;
    PeerSide& operator=(const PeerSide&) = delete;

    const trust::GatewayKeys& keys() const { return keys_; }
    trust::Peers& peers() { return *peers_; }
    /// For whoever lets paired peers in by their certificates; what it names lives as long as this.
    PeerCertificates::Services certificates();
    /// Also hears what the audit trail hears of pairings. Set before begin().
    void on_pairing(rtp::PairingWitness told) { told_ = std::move(told); }

    /// Makes what pairs, and has `hosts` call the hosts among the peers. Everything of it runs on
    /// `loop`.
    void begin(net::EventLoop& loop, rtp::HostDirectory& hosts);
    /// Makes the peer listener, if the configuration wants one. After begin().
    Result<void> listen(rtp::EventServices events, const trust::Access& access,
                        rtp::LeasesApi& leases, admin::ApprovalsApi& approvals);
    /// Begins to renew; on the loop's thread.
    void start();
    /// Accepts nothing more from peers; on the loop's thread.
    void stop_accepting();
    /// Ends everything that runs here, then calls `done`; on the loop's thread.
    void stop(std::function<void()> done);
    /// Stores what is not stored yet; blocks.
    void flush();

    rtp::PeersApi& records_api() { return records_api_; }
    rtp::PairingsApi& pairings_api() { return *pairings_api_; }
    /// `127.0.0.1:42618`, with the port that the system chose; empty when the listener is off.
    std::string endpoint() const {
        return listener_ ? listener_->endpoint().text() : std::string();
    }

private:
    PeerSide(const config::GatewayConfig& config, Services services,
             std::unique_ptr<store::sqlite::PeerStoreSqlite> store,
             std::unique_ptr<trust::Peers> peers, trust::GatewayKeys keys,
             std::shared_ptr<net::TlsContext> operator_tls);
    void on_change(const trust::PeerChange& change);
    void end_connections(const trust::PeerChange& change);
    bool record(std::string_view kind, const trust::PeerName& peer,
                const std::function<void(json::Writer&)>& members);
    std::function<void(const trust::PeerName&, std::string_view)> mismatch_recorder();

    const config::GatewayConfig& config_;
    Services services_;
    std::unique_ptr<store::sqlite::PeerStoreSqlite> store_;
    std::unique_ptr<trust::Peers> peers_;
    const trust::GatewayKeys keys_;
    rtp::GatewayTls tls_;
    std::shared_ptr<net::TlsContext> operator_tls_;
    rtp::PairingWitness told_;
    rtp::PeersApi records_api_;
    net::EventLoop* loop_ = nullptr;
    std::unique_ptr<rtp::PairingDialer> dialer_;
    std::unique_ptr<rtp::PairingsApi> pairings_api_;
    std::unique_ptr<rtp::PeerRenewals> renewals_;
    std::unique_ptr<rtp::PeerHosts> hosts_;
    std::unique_ptr<rtp::EventsApi> events_;
    std::unique_ptr<PeerService> service_;
    std::unique_ptr<net::Listener> listener_;
    std::unique_ptr<net::HttpServer> server_;
    std::unique_ptr<net::Periodic> storing_;
};

}  // namespace crab::gateway
