#pragma once

#include "base/blocking_pool.hpp"
#include "base/clock.hpp"
#include "config/gateway_config.hpp"
#include "core/registry.hpp"
#include "hosts/command/command_host.hpp"

#include <memory>
#include <vector>

namespace crab::app {

/// The configured providers of commands, as hosts. Errors: kInvalidArgs that names the provider, the tool and what is wrong.
Result<std::vector<std::shared_ptr<command::CommandHost>>> make_command_hosts(const config::GatewayConfig& config, const command::CommandServices& services);

/// The configured worktrees, their paths made absolute. Errors: kInvalidArgs for one that is no folder.
Result<std::shared_ptr<command::Worktrees>> make_worktrees(const config::GatewayConfig& config);

/// Registers the tools of `hosts` and reserves their names. Errors: kInvalidArgs that names provider and tool.
Result<void> register_command_tools(core::Registry& registry, const std::vector<std::shared_ptr<command::CommandHost>>& hosts);

/// How many commands can run at once: what all tools together allow, at most 64.
std::size_t command_threads(const config::GatewayConfig& config);

}  // namespace crab::app
