#pragma once

#include "admin/admin_api.hpp"
#include "admin/asked_principal.hpp"
#include "admin/audit_api.hpp"
#include "admin/console_api.hpp"
#include "admin/device_details.hpp"
#include "admin/diagnosis.hpp"
#include "admin/policy_explain.hpp"
#include "admin/policy_matrix.hpp"
#include "admin/principals_api.hpp"
#include "admin/tools_api.hpp"
#include "gateway/agents/turns.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/devices/device_fronts.hpp"
#include "gateway/hosts/grpc_providers.hpp"
#include "gateway/hosts/tool_hosts.hpp"
#include "gateway/listeners/console_doors.hpp"
#include "gateway/listeners/public_listener.hpp"
#include "gateway/mcp/mcp_servers.hpp"
#include "gateway/rules/access_rights.hpp"
#include "gateway/rules/call_approvals.hpp"
#include "gateway/rules/current_rules.hpp"
#include "gateway/stored/credentials.hpp"
#include "gateway/stored/peer_records.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/call_ledger.hpp"
#include "runtime/call_path.hpp"
#include "runtime/workers.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace crab::gateway {

/// The operator's API on the admin socket, and what it sees of the rest of the gateway.
class OperatorApi final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        Credentials& credentials;
        CallLedger& ledger;
        AuditTrail& audit;
        CurrentRules& rules;
        AccessRights& access;
        PeerRecords& peers;
        CallApprovals& approvals;
        CallPath& calls;
        Turns& turns;
        DeviceFronts& devices;
        ToolHosts& hosts;
        GrpcProviders& providers;
        McpServers& mcp;
        PublicListener& public_listener;
        ConsoleDoors& console;
        std::function<Result<void>()> reload;  ///< on the pool
        /// The file as it is on disk now; blocks
        std::function<Result<config::GatewayConfig>()> read_config;
        std::function<std::vector<admin::Unhealthy>()> unhealthy;  ///< any thread
    };
    explicit OperatorApi(Uses uses) : uses_(std::move(uses)) {}

    std::string_view name() const override { return "operator's API"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    void add_routes(const ListenerRoutes& table) override;
    /// How sources of tools do that are no devices; on the pool.
    std::vector<admin::SourceState> sources() const;

    /// Appends the answer of `/v1/admin/status`; on the admin socket's event loop, as the next.
    void append_status(std::string& out) const {
        api_->append_status(out, uses_.context.clock.steady_now());
    }
    std::vector<admin::Presence> presence() const;

private:
    admin::Gateway view();
    void start_tools();
    void fill_addresses(admin::Gateway& view);
    Result<std::shared_ptr<const core::Policy>> read_policy() const;
    void start_diagnosis();
    void start_details();
    void start_principals();

    const Uses uses_;
    std::unique_ptr<admin::AdminApi> api_;
    std::unique_ptr<core::CallCheck> checks_;  ///< on the first loop
    std::unique_ptr<admin::AskedPrincipals> principals_;
    std::unique_ptr<admin::ToolsApi> tools_;
    std::unique_ptr<admin::PolicyMatrix> matrix_;
    std::unique_ptr<admin::PolicyExplain> explain_;
    std::unique_ptr<admin::Diagnosis> diagnosis_;
    std::unique_ptr<admin::DeviceDetails> details_;
    std::unique_ptr<admin::PrincipalsApi> known_principals_;
    std::unique_ptr<admin::AuditApi> audit_;
    std::unique_ptr<admin::ConsoleApi> console_;
};

}  // namespace crab::gateway
