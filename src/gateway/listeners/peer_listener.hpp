#pragma once

#include "adapters/rtp/hosts/peer_hosts.hpp"
#include "adapters/rtp/pairing/pairings_api.hpp"
#include "adapters/rtp/pairing/peer_renewals.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/hosts/tool_hosts.hpp"
#include "gateway/listeners/peer_service.hpp"
#include "gateway/rules/access_rights.hpp"
#include "gateway/stored/event_log.hpp"
#include "gateway/stored/peer_records.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/listener.hpp"
#include "net/loop/periodic.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <functional>
#include <memory>
#include <string>

namespace crab::gateway {

/// Pairing and peers: pairs and renews, calls the tool hosts among the peers, and serves the peer
/// listener. Runs on the first event loop.
class PeerListener final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        Workers& workers;
        PeerRecords& records;
        EventLog& events;
        AccessRights& access;
        ToolHosts& hosts;
    };
    explicit PeerListener(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "peers"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the certificate and of the listener.
    Result<void> start() override;
    std::vector<ListenerRoutes> tables() override;
    /// The operator's routes about pairings.
    void add_routes(const ListenerRoutes& table) override;
    void begin() override;
    void drain() override;
    void stop(Deadline deadline) override;

    /// OpenAPI; empty when the listener is off.
    std::string api_document() const { return service_ ? service_->api_document() : std::string(); }
    /// `127.0.0.1:42618`, with the port that the system chose; empty when the listener is off.
    std::string endpoint() const {
        return listener_ ? listener_->endpoint().text() : std::string();
    }

private:
    void make_pairing();
    void make_hosts();
    Result<void> listen();
    void stop_all(std::function<void()> done);
    void on_change(const trust::PeerChange& change);
    void end_connections(const trust::PeerChange& change);
    const config::GatewayConfig& config() const { return uses_.context.config; }

    const Uses uses_;
    std::unique_ptr<rtp::PairingDialer> dialer_;
    std::unique_ptr<rtp::PairingsApi> pairings_api_;
    std::unique_ptr<rtp::PeerRenewals> renewals_;
    std::unique_ptr<rtp::PeerHosts> hosts_;
    std::unique_ptr<PeerService> service_;
    std::unique_ptr<net::Listener> listener_;
    std::unique_ptr<net::HttpServer> server_;
    std::unique_ptr<net::Periodic> storing_;
};

}  // namespace crab::gateway
