#include "apps/crab/host/hosted_commands.hpp"

#include "apps/crab/egress/egress_proxy.hpp"
#include "hosts/command/scratch_folder.hpp"
#include "hosts/command/worktree_tools.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace crab::app {
namespace {

using Secrets = std::map<std::string, Secret<std::string>, std::less<>>;
using Hosts = std::vector<std::shared_ptr<command::CommandHost>>;

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

/// How many commands can run at once: what all tools together allow, at most 64.
std::size_t threads_of(const config::GatewayConfig& config) {
    std::size_t wanted = 1;
    for (const config::ProviderOptions& provider : config.providers) wanted += 16 * (provider.tools_json.size() + (provider.worktree_preset ? 2 : 0));
    return std::min(wanted, kMostThreads);
}

bool is_command(const config::ProviderOptions& provider) { return provider.kind == config::ProviderKind::kCommand; }

/// Errors: kInvalidArgs that names the secret, never its value.
Result<Secrets> read_secrets(const config::GatewayConfig& config) {
    Secrets secrets;
    for (const config::SecretOptions& secret : config.secrets) {
        const auto wrong = [&](std::string_view what) { return fail(ErrorCode::kInvalidArgs, fmt::format("secrets: {}: {}", secret.name, what)); };
        if (secret.env.empty() == secret.file.empty()) return wrong("say where it is: env or file");
        std::string value;
        if (!secret.env.empty()) {
            const char* const text = std::getenv(secret.env.c_str());
            if (text == nullptr) return wrong(fmt::format("the environment variable {} is not set", secret.env));
            value = text;
        } else {
            std::ifstream file(config.source.parent_path() / secret.file);
            value.assign(std::istreambuf_iterator<char>(file), {});
            if (!file) return wrong(fmt::format("cannot read {}", secret.file.string()));
            while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
        }
        if (value.empty() || value.contains('\0')) return wrong("it is empty or holds a NUL character");
        if (!secrets.emplace(secret.name, std::move(value)).second) return wrong("is there twice");
    }
    return secrets;
}

/// `egress` null: nothing will run.
Result<Hosts> make_hosts(const config::GatewayConfig& config, const command::CommandServices& services, const EgressServices* egress) {
    Hosts hosts;
    for (const config::ProviderOptions& provider : config.providers) {
        if (!is_command(provider)) continue;
        auto tools = read_tools(provider);
        if (!tools) return fail(std::move(tools.error()));
        auto list = EgressList::parse(provider.egress);
        if (!list) return refused(provider, list.error());
        command::CommandHost::Options options{.id = provider.id, .worktree = provider.worktree, .egress = nullptr, .advisory = provider.labels == config::LabelRule::kAdvisory};
        if (egress != nullptr && !list->empty()) options.egress = std::make_shared<EgressProxy>(*egress, std::move(*list));
        hosts.push_back(std::make_shared<command::CommandHost>(services, std::move(options), std::move(*tools)));
    }
    return hosts;
}

Result<void> register_hosts(core::Registry& registry, const Hosts& hosts) {
    std::uint64_t owner = kFirstOwner;
    for (const auto& host : hosts) {
        const auto tools = command::make_command_tools(host);
        if (!tools) return fail(tools.error().code, fmt::format("providers: {}: {}", host->options().id, tools.error().message));
        for (const core::ToolRef& tool : *tools) registry.reserve(tool->spec.name);
        registry.change(ConnectionId{owner++}, *tools, {});
    }
    return {};
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

bool has_commands(const config::GatewayConfig& config) {
    return std::ranges::any_of(config.providers, is_command);
}

Result<std::unique_ptr<HostedCommands>> HostedCommands::open(const config::GatewayConfig& config, std::shared_ptr<const command::Worktrees> worktrees, net::EventLoop& home,
                                                              core::AuditLog& audit, std::vector<std::filesystem::path> own,
                                                              command::CommandServices::BoundWorktree bound_worktree) {
    auto secrets = read_secrets(config);
    if (!secrets) return fail(std::move(secrets.error()));
    if (!config.source.empty()) own.push_back(std::filesystem::absolute(config.source));
    std::unique_ptr<HostedCommands> made(new HostedCommands(threads_of(config)));
    command::CommandServices services{.clock = home.clock(), .threads = made->threads_, .abilities = command::SandboxAbilities::detect(), .worktrees = std::move(worktrees),
                                      .bound_worktree = std::move(bound_worktree), .secrets = std::move(*secrets), .own = std::move(own)};
    services.abilities.cgroups = command::CgroupPlaces::find();
    command::ScratchFolder::remove_leftovers();
    const EgressServices egress{.loop = home, .names = made->names_, .audit = audit};
    auto hosts = make_hosts(config, services, &egress);
    if (!hosts) return fail(std::move(hosts.error()));
    made->hosts_ = std::move(*hosts);
    return made;
}

Result<void> HostedCommands::register_in(core::Registry& registry) { return register_hosts(registry, hosts_); }

Result<void> check_commands(const config::GatewayConfig& config) {
    auto worktrees = make_worktrees(config);
    if (!worktrees) return fail(std::move(worktrees.error()));
    auto secrets = read_secrets(config);
    if (!secrets) return fail(std::move(secrets.error()));
    const RealClock clock;
    BlockingPool unused(1);
    const auto hosts = make_hosts(config, {.clock = clock, .threads = unused, .abilities = {}, .worktrees = std::move(*worktrees), .secrets = std::move(*secrets)}, nullptr);
    if (!hosts) return fail(hosts.error());
    core::Registry registry;
    return register_hosts(registry, *hosts);
}

}  // namespace crab::app
