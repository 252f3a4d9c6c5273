#include "gateway/mcp/mcp_programs.hpp"

#include "base/log.hpp"
#include "hosting/hosted_commands.hpp"
#include "hosting/server_files.hpp"
#include "hosts/command/init_supervisor.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

command::ServerSandboxRules rules_of(const config::McpSandboxOptions& options) {
    return {.read = options.read,
            .write = options.write,
            .host_network = options.network,
            .level = options.minimal ? core::Privilege::kMinimal : core::Privilege::kDefault,
            .memory_bytes = options.memory_bytes};
}

}  // namespace

McpPrograms::McpPrograms(const config::GatewayConfig& config,
                         std::vector<std::filesystem::path> own_folders, FindGroups find_groups)
    : config_(config), own_folders_(std::move(own_folders)), find_groups_(find_groups) {}

Result<McpPrograms::Sandbox> McpPrograms::sandbox_for(const std::string& source,
                                                      const config::McpServerOptions& server) {
    const std::scoped_lock lock(mutex_);
    if (!abilities_) {
        abilities_ = command::SandboxAbilities::detect();
        abilities_->cgroups = find_groups_();
        guarded_ = std::make_shared<const command::GuardedFiles>(
            hosting::guarded_files(config_, own_folders_));
    }
    auto sandbox = command::ServerSandbox::make(*abilities_, rules_of(*server.sandbox), guarded_);
    if (sandbox) {
        if (auto good = (*sandbox)->check_program(server.command); !good)
            sandbox = fail(std::move(good.error()));
    }
    if (!sandbox)
        return fail(sandbox.error().code,
                    fmt::format("mcp.servers.{}.sandbox: {}", source, sandbox.error().message));
    return sandbox;
}

Result<void> McpPrograms::check_apart(const config::McpServers& servers, const std::string& source,
                                      const config::McpServerOptions& server) {
    if (auto apart = hosting::check_apart_from_others(config_, servers, source, server); !apart)
        return fail(apart.error().code,
                    fmt::format("mcp.servers.{}: {}", source, apart.error().message));
    return {};
}

Result<void> McpPrograms::check(const config::McpServers& servers, const std::string& source,
                                const config::McpServerOptions& server) {
    if (auto apart = check_apart(servers, source, server); !apart) return apart;
    if (!server.sandbox) return {};
    auto sandbox = sandbox_for(source, server);
    if (!sandbox) return fail(std::move(sandbox.error()));
    return {};
}

std::vector<std::string> McpPrograms::check_all(const config::McpServers& servers) {
    std::vector<std::string> problems;
    const auto met = hosting::find_not_apart(config_, servers);
    for (const auto& [name, server] : servers) {
        if (const auto found = met.find(name); found != met.end())
            problems.push_back(fmt::format("mcp.servers.{}: {}", name, found->second.message));
        if (!server.enabled || !server.sandbox) continue;
        if (auto sandbox = sandbox_for(name, server); !sandbox)
            problems.push_back(std::move(sandbox.error().message));
    }
    return problems;
}

Result<McpPrograms::Wrap> McpPrograms::wrap_for(const config::McpServers& servers,
                                                const std::string& source,
                                                const config::McpServerOptions& server) {
    if (auto apart = check_apart(servers, source, server); !apart)
        return fail(std::move(apart.error()));
    if (server.sandbox) {
        auto sandbox = sandbox_for(source, server);
        if (!sandbox) return fail(std::move(sandbox.error()));
        return Wrap([sandbox = std::move(*sandbox)](ChildProgram program) {
            return sandbox->confine(std::move(program));
        });
    }
    const std::scoped_lock lock(mutex_);
    if (!init_) {
        std::error_code error;
        init_ = command::find_init_from(
            std::filesystem::read_symlink("/proc/self/exe", error).parent_path());
        if (init_->empty())
            log::warn(
                "crab-sandbox-init was not found next to crab: what programs of MCP servers "
                "start may outlive them");
    }
    if (init_->empty()) return Wrap();
    return Wrap([init = *init_](ChildProgram program) {
        return command::supervise(init, std::move(program));
    });
}

}  // namespace crab::gateway
