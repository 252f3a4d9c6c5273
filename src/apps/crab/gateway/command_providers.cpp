#include "apps/crab/gateway/command_providers.hpp"

#include "hosts/command/worktree_tools.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::app {
namespace {

constexpr std::size_t kMostThreads = 64;
constexpr std::uint64_t kFirstOwner = std::uint64_t{1} << 62;   ///< in the registry; live connections count from 1

std::unexpected<Error> refused(const config::ProviderOptions& provider, const Error& error) {
    return fail(error.code, fmt::format("providers: {}: {}", provider.id, error.message));
}

Result<std::vector<command::CommandTool>> read_tools(const config::ProviderOptions& provider) {
    std::vector<command::CommandTool> tools;
    if (provider.worktree_preset) tools = command::worktree_tools(provider.run);
    for (const std::string& text : provider.tools_json) {
        const auto item = json::Value::parse(text);
        if (!item) return refused(provider, item.error());
        auto tool = command::read_command_tool(*item);
        if (!tool) return refused(provider, tool.error());
        const bool repeated = std::ranges::any_of(tools, [&](const command::CommandTool& other) { return other.spec.name == tool->spec.name; });
        if (repeated) return refused(provider, fail(ErrorCode::kInvalidArgs, fmt::format("tool {}: is there twice", tool->spec.name)).error());
        tools.push_back(std::move(*tool));
    }
    return tools;
}

}  // namespace

Result<std::shared_ptr<command::Worktrees>> make_worktrees(const config::GatewayConfig& config) {
    std::vector<command::Worktree> worktrees;
    for (const config::WorktreeOptions& options : config.worktrees) {
        std::error_code error;
        const auto path = std::filesystem::canonical(config.source.parent_path() / options.path, error);
        if (error || !std::filesystem::is_directory(path, error)) {
            return fail(ErrorCode::kInvalidArgs, fmt::format("worktrees: {}: {} is no folder; make it first", options.id, options.path.string()));
        }
        worktrees.push_back({.id = options.id, .path = path, .read_only = options.read_only});
    }
    return std::make_shared<command::Worktrees>(std::move(worktrees));
}

Result<std::vector<std::shared_ptr<command::CommandHost>>> make_command_hosts(const config::GatewayConfig& config, const command::CommandServices& services) {
    std::vector<std::shared_ptr<command::CommandHost>> hosts;
    for (const config::ProviderOptions& provider : config.providers) {
        auto tools = read_tools(provider);
        if (!tools) return fail(std::move(tools.error()));
        command::CommandHost::Options options{.id = provider.id, .worktree = provider.worktree, .has_egress = !provider.egress.empty(), .advisory = provider.advisory};
        hosts.push_back(std::make_shared<command::CommandHost>(services, std::move(options), std::move(*tools)));
    }
    return hosts;
}

Result<void> register_command_tools(core::Registry& registry, const std::vector<std::shared_ptr<command::CommandHost>>& hosts) {
    std::uint64_t owner = kFirstOwner;
    for (const auto& host : hosts) {
        const auto tools = command::make_command_tools(host);
        if (!tools) return fail(tools.error().code, fmt::format("providers: {}: {}", host->options().id, tools.error().message));
        for (const core::ToolRef& tool : *tools) registry.reserve(tool->spec.name);
        registry.change(ConnectionId{owner++}, *tools, {});
    }
    return {};
}

std::size_t command_threads(const config::GatewayConfig& config) {
    std::size_t wanted = 0;
    for (const config::ProviderOptions& provider : config.providers) wanted += 16 * (provider.tools_json.size() + (provider.worktree_preset ? 2 : 0));
    return std::min(wanted, kMostThreads);
}

}  // namespace crab::app
