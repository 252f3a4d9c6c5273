#pragma once

#include "admin/mcp_api.hpp"
#include "base/change_signal.hpp"
#include "base/ordered_mutex.hpp"
#include "base/published.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/mcp/mcp_programs.hpp"
#include "runtime/workers.hpp"
#include "setup/mcp_servers_file.hpp"

#include <atomic>
#include <memory>
#include <optional>

namespace crab::gateway {

/// Which MCP servers there are: those of the configuration, and those that were added while the
/// gateway runs, with the operator's API over both. Who runs them follows servers().
class McpServerList final : public Component, public admin::McpServerConfigs {
public:
    McpServerList(const GatewayContext& context, Workers& workers);

    std::string_view name() const override { return "MCP server list"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_routes(const ListenerRoutes& table) override;

    /// Those that can be used, by source. Any thread.
    const Published<config::McpServers>& servers() const { return servers_; }
    /// How their programs are started.
    McpPrograms& programs() { return programs_; }
    /// Told when servers() has changed.
    ChangeSignal& changes() { return changes_; }
    /// Who runs them, for status and approvals; null again before it ends.
    void set_control(admin::McpServersControl* control) { control_ = control; }

    std::vector<admin::KnownMcpServer> known() override;
    Result<void> put(std::string_view name, json::Value server, std::string_view origin,
                     Put how) override;
    Result<void> remove(std::string_view name) override;

private:
    // with the lock
    config::McpServers with_added(config::McpServers configured) const;
    void publish();

    const GatewayContext& context_;
    Workers& workers_;
    McpPrograms programs_;
    OrderedMutex<LockRank::kMcpServerList> mutex_;
    config::McpServers configured_;
    std::optional<setup::McpServersFile> added_;
    Published<config::McpServers> servers_{std::make_shared<const config::McpServers>()};
    ChangeSignal changes_;
    std::atomic<admin::McpServersControl*> control_ = nullptr;
    std::unique_ptr<admin::McpApi> api_;
};

}  // namespace crab::gateway
