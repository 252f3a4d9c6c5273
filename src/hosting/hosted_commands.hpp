#pragma once

#include "base/task/blocking_pool.hpp"
#include "config/gateway_config.hpp"
#include "core/audit/audit_log.hpp"
#include "hosts/command/command_host.hpp"
#include "hosts/command/server_sandbox.hpp"
#include "net/http/name_lookups.hpp"
#include "sdk/tool_host/hosted_tools.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

namespace crab::hosting {

/// From which relative paths of the configuration go: that of its file, without one the current
/// one.
std::filesystem::path folder_of(const config::GatewayConfig& config);

/// The configured worktrees, their folders held open. `own_folders` are the folders of this
/// process, of state and sockets, beside what the configuration names. Errors: kInvalidArgs for one
/// that is not a folder, overlaps another, or meets what is crab's own.
Result<std::shared_ptr<command::Worktrees>> make_worktrees(
    const config::GatewayConfig& config, const std::vector<std::filesystem::path>& own_folders);

/// The files of crab itself: `own_folders` and the secret files of the configuration, and what it
/// runs or trusts.
command::GuardedFiles guarded_files(const config::GatewayConfig& config,
                                    const std::vector<std::filesystem::path>& own_folders);

/// The configured command providers: their tools and worker threads.
class HostedCommands final : public sdk::HostedTools {
public:
    /// Finds out what this host can enforce, and moves this process into a control group where that
    /// helps. Blocks for some milliseconds. The proxies of providers with an egress list run on
    /// `home`, and tell `audit` what they refuse. `own_folders` are those of make_worktrees(); no
    /// command sees them, nor files of the configuration that are secret. `bound_worktree` stands
    /// in for the bindings of `worktrees`; null: those count. Errors: kInvalidArgs that names the
    /// provider, the tool and what is wrong.
    static Result<std::unique_ptr<HostedCommands>> open(
        const config::GatewayConfig& config, std::shared_ptr<const command::Worktrees> worktrees,
        net::EventLoop& home, core::AuditLog& audit,
        const std::vector<std::filesystem::path>& own_folders,
        command::CommandServices::BoundWorktree bound_worktree = {});

    /// Errors: kInvalidArgs that names provider and tool.
    Result<void> register_in(core::Registry& registry) override;
    /// From now on no command sees what `next` says is crab's own, either. Thread-safe.
    void protect(const config::GatewayConfig& next);

private:
    explicit HostedCommands(std::size_t threads)
        : names_(std::clamp<std::size_t>(threads, 2, 16)), threads_(threads) {}

    net::NameLookups names_;  ///< for the egress proxies
    BlockingPool threads_;
    std::vector<std::filesystem::path> first_own_;
    const std::shared_ptr<command::CommandServices::OwnFiles> own_ =
        std::make_shared<command::CommandServices::OwnFiles>(
            std::make_shared<const command::ProtectedFiles>());
    std::vector<std::shared_ptr<command::CommandHost>> hosts_;
};

/// Whether the configuration has providers of commands.
bool has_commands(const config::GatewayConfig& config);

/// Checks the configuration as open() and register_in() would; runs nothing. Errors: theirs and
/// those of make_worktrees().
Result<void> check_commands(const config::GatewayConfig& config,
                            const std::vector<std::filesystem::path>& own_folders);

/// For each command tool that this process cannot run with the tool's default policy: one line with
/// the reason.
std::vector<std::string> commands_not_offered(const config::GatewayConfig& config,
                                              const command::SandboxAbilities& abilities);

}  // namespace crab::hosting
