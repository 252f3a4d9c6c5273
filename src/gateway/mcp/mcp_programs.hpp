#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "config/gateway_config.hpp"
#include "config/mcp_options.hpp"
#include "hosts/command/server_sandbox.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace crab::gateway {

/// How programs of MCP servers are started: in the sandbox that their configuration asks for, else
/// under a supervisor. Any number of threads; what it needs of the machine is found out at the
/// first need. Source: docs/protocols/mcp.md, section 2.6.
class McpPrograms {
public:
    /// CgroupPaths::find, or ::look where nothing will run.
    using FindGroups = command::CgroupPaths (*)();
    /// `own_folders`: of state and sockets, which no sandbox shows.
    McpPrograms(const config::GatewayConfig& config, std::vector<std::filesystem::path> own_folders,
                FindGroups find_groups);

    /// Whether its program could be started here with all that its sandbox promises, if it has one,
    /// and whether commands in worktrees can touch nothing that it is made of. Blocks. Errors:
    /// kInvalidArgs, kUnavailable; they name the key.
    Result<void> check(const config::McpServers& servers, const std::string& source,
                       const config::McpServerOptions& server);
    /// What check() says of all that are enabled, each pair of them looked at once. Blocks.
    std::vector<std::string> check_all(const config::McpServers& servers);
    /// For UpstreamChild::wrap. Blocks. Errors: those of check().
    using Wrap = decltype(mcp::UpstreamChild::wrap);
    Result<Wrap> wrap_for(const config::McpServers& servers, const std::string& source,
                          const config::McpServerOptions& server);

private:
    using Sandbox = std::shared_ptr<const command::ServerSandbox>;
    Result<void> check_apart(const config::McpServers& servers, const std::string& source,
                             const config::McpServerOptions& server);
    Result<Sandbox> sandbox_for(const std::string& source, const config::McpServerOptions& server);

    const config::GatewayConfig& config_;
    const std::vector<std::filesystem::path> own_folders_;
    const FindGroups find_groups_;
    std::mutex mutex_;
    std::optional<command::SandboxAbilities> abilities_;
    std::shared_ptr<const command::GuardedFiles> guarded_;
    std::optional<std::filesystem::path> init_;  ///< crab-sandbox-init
};

}  // namespace crab::gateway
