#pragma once

#include "base/task/blocking_pool.hpp"
#include "config/gateway_config.hpp"
#include "core/audit/audit_log.hpp"
#include "hosts/command/command_host.hpp"
#include "net/http/name_lookups.hpp"
#include "sdk/tool_host/hosted_tools.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace crab::hosting {

/// Opens the configured worktrees. `places` are this process's state and socket folders that the
/// configuration does not name. Errors: kInvalidArgs for one that is not a folder, overlaps
/// another, or overlaps crab's own files.
Result<std::shared_ptr<command::Worktrees>> make_worktrees(
    const config::GatewayConfig& config, const std::vector<std::filesystem::path>& places);

/// The configured command providers: their tools and worker threads.
class HostedCommands final : public sdk::HostedTools {
public:
    /// Detects what this machine can enforce, and moves this process into a control group if that
    /// helps. Blocks for some milliseconds. Egress proxies run on `home` and report refusals to
    /// `audit`. `places` as in make_worktrees(); they and secret files of the configuration are
    /// hidden from commands. `bound_worktree` overrides the bindings of `worktrees` unless null.
    /// Errors: kInvalidArgs that names the provider, the tool and what is wrong.
    static Result<std::unique_ptr<HostedCommands>> open(
        const config::GatewayConfig& config, std::shared_ptr<const command::Worktrees> worktrees,
        net::EventLoop& home, core::AuditLog& audit,
        const std::vector<std::filesystem::path>& places,
        command::CommandServices::BoundWorktree bound_worktree = {});

    /// Errors: kInvalidArgs that names provider and tool.
    Result<void> register_in(core::Registry& registry) override;

private:
    explicit HostedCommands(std::size_t threads)
        : names_(std::clamp<std::size_t>(threads, 2, 16)), threads_(threads) {}

    net::NameLookups names_;  ///< for the egress proxies
    BlockingPool threads_;
    std::vector<std::shared_ptr<command::CommandHost>> hosts_;
};

/// Whether the configuration has providers of commands.
bool has_commands(const config::GatewayConfig& config);

/// Checks the configuration as open() and register_in() would; runs nothing. Errors: theirs and
/// those of make_worktrees().
Result<void> check_commands(const config::GatewayConfig& config,
                            const std::vector<std::filesystem::path>& places);

/// For each command tool that this process cannot run with the tool's default policy: one line with
/// the reason.
std::vector<std::string> commands_not_offered(const config::GatewayConfig& config,
                                              const command::SandboxAbilities& abilities);

}  // namespace crab::hosting
