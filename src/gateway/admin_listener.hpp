#pragma once

#include "admin/admin_api.hpp"
#include "gateway/command_providers.hpp"
#include "gateway/peer_listener.hpp"
#include "gateway/public_listener.hpp"

#include <functional>
#include <memory>
#include <string>

namespace crab::gateway {

/// The admin socket: the operator's API and all other routes that operators may use, on the first
/// event loop.
class AdminListener final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        Workers& workers;
        Credentials& credentials;
        ChatSessions& chats;
        CallLedger& ledger;
        AuditTrail& audit;
        EventLog& events;
        AccessRights& access;
        CallApprovals& approvals;
        Artifacts& artifacts;
        CommandProviders& commands;
        CallPath& calls;
        Turns& turns;
        DeviceFronts& devices;
        PeerRecords& peer_records;
        PeerListener& peers;
        PublicListener& public_listener;
        std::function<Result<void>()> reload;  ///< on the pool
    };
    explicit AdminListener(Uses uses) : uses_(std::move(uses)) {}

    std::string_view name() const override { return "admin socket"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the listener.
    Result<void> start() override;
    void drain() override;
    void stop(Deadline deadline) override;
    /// OpenAPI.
    std::string api_document() const { return service_->api_document(); }
    /// Of the requests on all HTTP listeners.
    void add_metrics(core::MetricsPage& page) override;

private:
    admin::Gateway view();
    void fill_places(admin::Gateway& view);
    std::vector<admin::Presence> presence();
    void make_apis();

    const Uses uses_;
    std::unique_ptr<rtp::ToolsApi> tools_;
    std::unique_ptr<admin::AdminApi> admin_;
    std::unique_ptr<rtp::EventsApi> events_;
    std::unique_ptr<admin::WorktreesApi> worktrees_;
    std::unique_ptr<AgentsApi> agents_;
    std::unique_ptr<AdminService> service_;
    std::unique_ptr<net::Listener> listener_;
    std::unique_ptr<net::HttpServer> server_;
};

}  // namespace crab::gateway
