#include "hosting/hosted_commands.hpp"

#include "hosts/command/egress/egress_proxy.hpp"
#include "hosts/command/process_tree.hpp"
#include "hosts/command/scratch_folder.hpp"
#include "hosts/command/worktree_tools.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace crab::hosting {
namespace {

using Secrets = std::map<std::string, Secret<std::string>, std::less<>>;
using Hosts = std::vector<std::shared_ptr<command::CommandHost>>;

constexpr std::size_t kMostThreads = 256;
/// Commands of all tools; each tool has a bound of its own
constexpr std::size_t kMostWaiting = 4'096;
/// In the registry; live connections count from 1
constexpr std::uint64_t kFirstOwner = std::uint64_t{1} << 62;

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
        const bool repeated = std::ranges::any_of(tools, [&](const command::CommandTool& other) {
            return other.spec.name == tool->spec.name;
        });
        if (repeated)
            return refused(provider, fail(ErrorCode::kInvalidArgs,
                                          fmt::format("tool {}: is there twice", tool->spec.name))
                                         .error());
        tools.push_back(std::move(*tool));
    }
    return tools;
}

bool is_command(const config::ProviderOptions& provider) {
    return provider.kind == config::ProviderKind::kCommand;
}

/// How many commands can run at once: what the gates of all tools together let in, at most 256.
std::size_t threads_of(const config::GatewayConfig& config) {
    std::size_t wanted = 0;
    for (const config::ProviderOptions& provider : config.providers) {
        const auto tools =
            is_command(provider) ? read_tools(provider) : std::vector<command::CommandTool>();
        if (!tools) continue;  // whoever makes the host says why
        for (const command::CommandTool& tool : *tools) wanted += *tool.spec.max_concurrency;
    }
    return std::clamp<std::size_t>(wanted, 1, kMostThreads);
}

/// Errors: kInvalidArgs that names the secret, never its value.
Result<Secrets> read_secrets(const config::GatewayConfig& config) {
    Secrets secrets;
    for (const config::SecretOptions& secret : config.secrets) {
        const auto wrong = [&](std::string_view what) {
            return fail(ErrorCode::kInvalidArgs, fmt::format("secrets: {}: {}", secret.name, what));
        };
        if (secret.env.empty() == secret.file.empty()) return wrong("say where it is: env or file");
        std::string value;
        if (!secret.env.empty()) {
            const char* const text = std::getenv(secret.env.c_str());
            if (text == nullptr)
                return wrong(fmt::format("the environment variable {} is not set", secret.env));
            value = text;
        } else {
            std::ifstream file(config.source.parent_path() / secret.file);
            value.assign(std::istreambuf_iterator<char>(file), {});
            if (!file) return wrong(fmt::format("cannot read {}", secret.file.string()));
            while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
        }
        if (value.empty() || value.contains('\0'))
            return wrong("it is empty or holds a NUL character");
        if (!secrets.emplace(secret.name, std::move(value)).second) return wrong("is there twice");
    }
    return secrets;
}

/// `egress` null: nothing will run.
Result<Hosts> make_hosts(const config::GatewayConfig& config,
                         const command::CommandServices& services,
                         const command::EgressServices* egress) {
    Hosts hosts;
    for (const config::ProviderOptions& provider : config.providers) {
        if (!is_command(provider)) continue;
        auto tools = read_tools(provider);
        if (!tools) return fail(std::move(tools.error()));
        auto list = command::EgressList::parse(provider.egress);
        if (!list) return refused(provider, list.error());
        command::CommandHost::Options options{
            .id = provider.id,
            .worktree = provider.worktree,
            .egress = nullptr,
            .advisory = provider.labels == config::LabelRule::kAdvisory};
        if (egress != nullptr && !list->empty())
            options.egress = std::make_shared<command::EgressProxy>(*egress, std::move(*list));
        hosts.push_back(std::make_shared<command::CommandHost>(services, std::move(options),
                                                               std::move(*tools)));
    }
    return hosts;
}

Result<void> register_hosts(core::Registry& registry, const Hosts& hosts) {
    std::uint64_t owner = kFirstOwner;
    for (const auto& host : hosts) {
        const auto tools = command::make_command_tools(host);
        if (!tools)
            return fail(tools.error().code, fmt::format("providers: {}: {}", host->options().id,
                                                        tools.error().message));
        registry.reserve(host->options().id + "__");
        for (const core::ToolRef& tool : *tools) registry.reserve(tool->spec.name);
        registry.change(ConnectionId{owner++}, *tools, {});
    }
    return {};
}

using Paths = std::vector<std::filesystem::path>;

/// Files that the configuration names, absolute; those that it does not name are left out.
Paths files_of(const config::GatewayConfig& config,
               std::initializer_list<std::filesystem::path> named) {
    const auto folder = folder_of(config);
    Paths files;
    for (const auto& file : named) {
        if (!file.empty()) files.push_back(folder / file);
    }
    return files;
}

constexpr std::string_view kUnix = "unix:";

/// The gRPC services that this process calls, approvals' and worktrees' among them.
std::vector<const config::RemoteServiceOptions*> services_of(const config::GatewayConfig& config) {
    std::vector<const config::RemoteServiceOptions*> all;
    for (const config::ProviderOptions& provider : config.providers)
        all.push_back(&provider.remote.service);
    for (const auto* const service : {&config.worktree_service, &config.hitl})
        if (*service) all.push_back(&**service);
    return all;
}

/// All that a command could read secrets from, or make itself an operator with. `own` begins with
/// the folders of this process.
Paths own_files(const config::GatewayConfig& config, Paths own) {
    const auto add = [&](std::initializer_list<std::filesystem::path> named) {
        std::ranges::move(files_of(config, named), std::back_inserter(own));
    };
    if (!config.source.empty()) add({std::filesystem::absolute(config.source)});
    for (const auto& file : config.quoted) add({file});
    add({config.grpc.unix_socket, config.pairing.key});
    for (const auto& tls : {config.listen.tls, config.grpc.tls}) {
        if (tls) add({tls->key});
    }
    for (const config::SecretOptions& secret : config.secrets) add({secret.file});
    add({config.tracing.headers_file});
    for (const config::ModelOptions& model : config.models) add({model.key_file});
    for (const config::ToolHostOptions& host : config.hosts) add({host.unix_socket});
    for (const config::RemoteServiceOptions* const service : services_of(config)) {
        add({service->token_file});
        if (service->tls) add({service->tls->key});
        // whoever puts a socket of its own in its place decides about calls
        if (service->address.starts_with(kUnix)) add({service->address.substr(kUnix.size())});
    }
    if (config.fleet) {
        add({config.fleet->key_file, config.fleet->dsn_file});
        if (config.fleet->nats) add({config.fleet->nats->user_file});
    }
    for (const auto& [name, server] : config.mcp.servers) {
        add({server.tls.key});
        if (server.auth.client_credentials) add({server.auth.client_credentials->key_file});
    }
    return own;
}

/// What is no secret, but decides what this process runs and whom it believes.
Paths relied_on(const config::GatewayConfig& config) {
    std::error_code error;
    Paths files;
    if (const auto program = std::filesystem::read_symlink("/proc/self/exe", error); !error)
        files = {program, program.parent_path() / "crab-sandbox-init"};
    const auto add = [&](std::initializer_list<std::filesystem::path> named) {
        std::ranges::move(files_of(config, named), std::back_inserter(files));
    };
    for (const config::HookRule& hook : config.hooks) {
        for (const std::string& word : hook.run) {
            if (word.contains('/') && std::filesystem::exists(word, error))
                files.push_back(std::filesystem::absolute(word));
        }
    }
    add({config.pairing.ca, config.pairing.cert, config.tracing.ca});
    for (const auto& tls : {config.listen.tls, config.grpc.tls}) {
        if (tls) add({tls->cert});
    }
    for (const config::ModelOptions& model : config.models) add({model.ca});
    for (const auto& [name, server] : config.mcp.servers) add({server.tls.ca, server.tls.cert});
    for (const config::RemoteServiceOptions* const service : services_of(config)) {
        if (service->tls) add({service->tls->ca, service->tls->cert});
    }
    return files;
}

}  // namespace

std::filesystem::path folder_of(const config::GatewayConfig& config) {
    const bool has_file = !config.source.empty();
    return std::filesystem::absolute(has_file ? config.source : "none").parent_path();
}

command::GuardedFiles guarded_files(const config::GatewayConfig& config,
                                    const std::vector<std::filesystem::path>& own_folders) {
    return {.own = command::ProtectedFiles(own_files(config, own_folders)),
            .relied_on = command::ProtectedFiles(relied_on(config))};
}

Result<std::shared_ptr<command::Worktrees>> make_worktrees(
    const config::GatewayConfig& config, const std::vector<std::filesystem::path>& own_folders) {
    std::vector<command::Worktree> worktrees;
    for (const config::WorktreeOptions& options : config.worktrees) {
        const auto path = folder_of(config) / options.path;
        worktrees.push_back({.id = options.id,
                             .path = path,
                             .read_only = options.read_only,
                             .max_bytes = options.max_bytes});
    }
    if (worktrees.empty()) return std::make_shared<command::Worktrees>(std::move(worktrees));
    auto held = command::hold_worktrees(std::move(worktrees),
                                        command::ProtectedFiles(own_files(config, own_folders)),
                                        command::ProtectedFiles(relied_on(config)));
    if (!held) return fail(std::move(held.error()));
    return std::make_shared<command::Worktrees>(std::move(*held));
}

bool has_commands(const config::GatewayConfig& config) {
    return std::ranges::any_of(config.providers, is_command);
}

Result<std::unique_ptr<HostedCommands>> HostedCommands::open(
    const config::GatewayConfig& config, std::shared_ptr<const command::Worktrees> worktrees,
    net::EventLoop& home, core::AuditLog& audit,
    const std::vector<std::filesystem::path>& own_folders,
    command::CommandServices::BoundWorktree bound_worktree) {
    auto secrets = read_secrets(config);
    if (!secrets) return fail(std::move(secrets.error()));
    const std::size_t threads = threads_of(config);
    std::unique_ptr<HostedCommands> made(new HostedCommands(threads));
    made->first_own_ = own_files(config, own_folders);
    made->protect(config);
    const auto gate =
        std::make_shared<core::ToolGate>(static_cast<std::uint32_t>(threads), kMostWaiting);
    command::CommandServices services{
        .clock = home.clock(),
        .threads = made->threads_,
        .places = gate,
        .abilities = command::SandboxAbilities::detect(),
        .worktrees = std::move(worktrees),
        .bound_worktree = std::move(bound_worktree),
        .secrets = std::move(*secrets),
        .own = made->own_,
        .relied_on = std::make_shared<const command::ProtectedFiles>(relied_on(config))};
    services.abilities.cgroups = command::CgroupPaths::find();
    command::ScratchFolder::remove_leftovers();
    command::end_orphaned_sandboxes();
    const command::EgressServices egress{.loop = home, .names = made->names_, .audit = audit};
    for (const std::string& line : commands_not_offered(config, services.abilities))
        log::warn(line);
    auto hosts = make_hosts(config, services, &egress);
    if (!hosts) return fail(std::move(hosts.error()));
    made->hosts_ = std::move(*hosts);
    return made;
}

/// What counted at the start may be in use still, whatever a reload says.
void HostedCommands::protect(const config::GatewayConfig& next) {
    own_->set(std::make_shared<const command::ProtectedFiles>(own_files(next, first_own_)));
}

Result<void> HostedCommands::register_in(core::Registry& registry) {
    return register_hosts(registry, hosts_);
}

Result<void> check_commands(const config::GatewayConfig& config,
                            const std::vector<std::filesystem::path>& own_folders) {
    auto worktrees = make_worktrees(config, own_folders);
    if (!worktrees) return fail(std::move(worktrees.error()));
    auto secrets = read_secrets(config);
    if (!secrets) return fail(std::move(secrets.error()));
    const RealClock clock;
    BlockingPool unused(1);
    const auto hosts = make_hosts(
        config,
        {.clock = clock,
         .threads = unused,
         .abilities = {},
         .worktrees = std::move(*worktrees),
         .secrets = std::move(*secrets),
         .own = std::make_shared<command::CommandServices::OwnFiles>(
             std::make_shared<const command::ProtectedFiles>(own_files(config, own_folders))),
         .relied_on = std::make_shared<const command::ProtectedFiles>(relied_on(config))},
        nullptr);
    if (!hosts) return fail(hosts.error());
    core::Registry registry;
    return register_hosts(registry, *hosts);
}

std::vector<std::string> commands_not_offered(const config::GatewayConfig& config,
                                              const command::SandboxAbilities& abilities) {
    std::vector<std::string> lines;
    for (const config::ProviderOptions& provider : config.providers) {
        const auto tools = is_command(provider) && provider.labels == config::LabelRule::kEnforce
                               ? read_tools(provider)
                               : std::vector<command::CommandTool>();
        if (!tools) continue;
        for (const command::CommandTool& tool : *tools) {
            const core::PolicyDefaults& wanted = tool.limits.defaults;
            const auto tell = [&](std::string_view label,
                                  const std::optional<std::string>& missing) {
                if (missing)
                    lines.push_back(fmt::format(
                        "providers: {}: {} is not offered: {} cannot be enforced here: {}",
                        provider.id, tool.spec.name, label, *missing));
                return missing.has_value();
            };
            if (!tell(name_of(wanted.network), abilities.missing(wanted.network)))
                tell(name_of(wanted.privilege), abilities.missing(wanted.privilege));
        }
    }
    return lines;
}

}  // namespace crab::hosting
