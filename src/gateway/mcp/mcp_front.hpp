#pragma once

#include "adapters/mcp/server/endpoints.hpp"
#include "base/task/fair_pool.hpp"
#include "core/ledger/call_task_store.hpp"
#include "crypto/random_source.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/mcp/mcp_shared.hpp"
#include "gateway/rules/call_approvals.hpp"
#include "gateway/stored/artifacts.hpp"
#include "gateway/stored/credentials.hpp"
#include "runtime/call_path.hpp"
#include "runtime/component.hpp"
#include "store/sqlite/tool_index_sqlite.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace crab::gateway {

/// The gateway as an MCP server: `/mcp` of the public listener, and of the admin socket.
class McpFront final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        CallPath& calls;
        Credentials& credentials;
        Artifacts& artifacts;
        CallApprovals& approvals;
        McpShared& shared;
    };
    explicit McpFront(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "mcp front"; }
    std::span<const ConfigKey> keys() const override;
    Result<void> start() override;
    void add_routes(const ListenerRoutes& table) override;
    /// Ends the streams that are open; calls go on.
    void drain() override;
    void stop(Deadline deadline) override;

private:
    /// What was opened with it ends.
    void end_credential(const std::string& credential);

    const Uses uses_;
    crypto::SystemRandom random_;
    std::unique_ptr<core::CallTaskStore> tasks_;
    /// Separate, so that tasks wait for their own disk work only
    std::unique_ptr<BlockingPool> pool_;
    std::optional<mcp::ServerState> state_;
    store::sqlite::ToolIndexSqlite index_;
    FairPool searches_{1};  ///< of the index
    std::vector<std::unique_ptr<mcp::Endpoints>> endpoints_;  ///< by event loop
    std::vector<net::EventLoop*> loops_;
};

}  // namespace crab::gateway
