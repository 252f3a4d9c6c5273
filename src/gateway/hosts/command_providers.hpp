#pragma once

#include "admin/worktrees_api.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/hosts/worktree_service_client.hpp"
#include "hosting/hosted_commands.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <filesystem>
#include <memory>

namespace crab::gateway {

/// The command providers and their worktrees.
class CommandProviders final : public Component {
public:
    CommandProviders(const GatewayContext& context, EventLoops& loops, Workers& workers,
                     AuditTrail& audit)
        : context_(context), loops_(loops), workers_(workers), audit_(audit) {}

    std::string_view name() const override { return "command providers"; }
    std::span<const ConfigKey> keys() const override;
    /// Does not probe the sandbox when there are no commands. Errors: kInvalidArgs naming the
    /// worktree, or the provider and the tool.
    Result<void> start() override;
    void begin() override;
    /// What becomes crab's own must not lie in a worktree, and is hidden from commands. Errors:
    /// kInvalidArgs.
    Result<Change> prepare(const config::GatewayConfig& next) override;
    /// The operator's routes about worktrees.
    void add_routes(const ListenerRoutes& table) override;
    void stop(Deadline deadline) override;

private:
    std::vector<std::filesystem::path> own_folders() const;
    /// The file with the worktree bindings.
    std::filesystem::path bindings_file() const {
        return context_.paths.state_dir / "worktrees.json";
    }
    /// Null if no service is configured; then the bindings apply.
    Result<command::CommandServices::BoundWorktree> ask_worktree_service();

    const GatewayContext& context_;
    EventLoops& loops_;
    Workers& workers_;
    AuditTrail& audit_;
    std::shared_ptr<command::Worktrees> worktrees_;
    std::unique_ptr<admin::WorktreesApi> api_;
    std::unique_ptr<WorktreeServiceClient> worktree_service_;
    std::unique_ptr<hosting::HostedCommands> commands_;  ///< null: there are none
};

}  // namespace crab::gateway
