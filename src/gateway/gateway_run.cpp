#include "gateway/gateway_run.hpp"

#include "base/log.hpp"
#include "config/load.hpp"
#include "gateway/agents/event_agents.hpp"
#include "gateway/agents/turn_runners.hpp"
#include "gateway/gateway.hpp"
#include "gateway/mcp/mcp_programs.hpp"
#include "gateway/operator/config_changes.hpp"
#include "gateway/operator/config_findings.hpp"
#include "gateway/rules/call_rules.hpp"
#include "gateway/service_manager.hpp"
#include "hosting/hosted_commands.hpp"

#include <csignal>
#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

/// Errors: kInvalidArgs naming the entry.
Result<void> check_rules(const config::GatewayConfig& config, const config::Paths& paths) {
    BlockingPool pool(1);
    if (auto made = make_call_rules(config, pool); !made) return fail(std::move(made.error()));
    if (auto made = make_turn_setup(config); !made) return fail(std::move(made.error()));
    if (auto made = EventAgents::read_agents(config); !made) return fail(std::move(made.error()));
    return hosting::check_commands(
        config, {paths.state_dir_of(config), paths.admin_socket_of(config).parent_path()});
}

/// What commands would not do here although the gateway starts.
std::vector<std::string> commands_not_offered_here(const config::GatewayConfig& config) {
    if (!hosting::has_commands(config)) return {};
    auto abilities = command::SandboxAbilities::detect();
    abilities.cgroups = command::CgroupPaths::look();
    return hosting::commands_not_offered(config, abilities);
}

/// Sandboxes of MCP servers that this machine cannot make as they are written.
std::vector<std::string> sandboxes_not_here(const config::Startup& startup) {
    const config::GatewayConfig& config = startup.config;
    McpPrograms programs(
        config,
        {startup.paths.state_dir_of(config), startup.paths.admin_socket_of(config).parent_path()},
        [] { return command::CgroupPaths::look(); });
    return programs.check_all(config.mcp.servers);
}

/// The line that whoever started it waits for.
void say_ready(const Gateway& gateway) {
    fmt::print("crab gateway ready public={} admin={}",
               gateway.public_endpoint().empty() ? "off" : gateway.public_endpoint(),
               gateway.admin_socket());
    fmt::print("{}{}", gateway.grpc_endpoint().empty() ? "" : " grpc=", gateway.grpc_endpoint());
    fmt::print("{}{}\n", gateway.peer_endpoint().empty() ? "" : " peers=", gateway.peer_endpoint());
    std::fflush(stdout);
}

}  // namespace

config::Findings check_gateway(const config::Startup& startup) {
    // All that is wrong at once: with what it says by itself, and with what it names.
    config::Findings findings = look_around(startup.config, startup.paths, ::getuid());
    if (auto usable = check_rules(startup.config, startup.paths); !usable)
        findings.problems.push_back(usable.error().message);
    for (std::string& each : sandboxes_not_here(startup))
        findings.problems.push_back(std::move(each));
    std::vector<std::string> warnings = commands_not_offered_here(startup.config);
    findings.warnings.insert(findings.warnings.begin(), warnings.begin(), warnings.end());
    const ConfigChanges set = config_changes(Gateway::config_keys(), {}, startup.config);
    findings.on_reload.assign(set.now.begin(), set.now.end());
    findings.on_restart.assign(set.at_next_start.begin(), set.at_next_start.end());
    return findings;
}

int run_gateway(const config::Startup& startup) {
    // Signals are taken here, one after the other; every thread inherits the mask.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    // a file that may not grow is an error of the write, as a full disk is
    std::signal(SIGXFSZ, SIG_IGN);

    const GatewayPaths paths{.state_dir = startup.paths.state_dir_of(startup.config),
                             .admin_socket = startup.paths.admin_socket_of(startup.config)};
    for (const auto& directory : {paths.state_dir, paths.admin_socket.parent_path()}) {
        if (const auto made = config::ensure_private_directory(directory, ::getuid()); !made) {
            fmt::print(stderr, "crab gateway: {}\n", made.error().message);
            return 1;
        }
    }
    const auto read_again = [&startup] {
        return config::load_first(startup.config_file, startup.paths);
    };
    auto sockets = InheritedSockets::take();
    if (!sockets) {
        fmt::print(stderr, "crab gateway: {}\n", sockets.error().message);
        return 1;
    }
    auto gateway = Gateway::start(startup.config, paths, read_again, std::move(*sockets));
    if (!gateway) {
        fmt::print(stderr, "crab gateway: {}\n", gateway.error().message);
        return 1;
    }
    // What does not keep it from running, but is not as somebody meant it.
    config::Findings findings = look_around(startup.config, startup.paths, ::getuid());
    findings.warnings.insert(findings.warnings.end(), findings.problems.begin(),
                             findings.problems.end());
    for (const std::string& warning : findings.warnings)
        log::warn("something of the configuration does not work here", {{"what", warning}});
    say_ready(**gateway);
    tell_service_manager(ServiceState::kReady);
    for (;;) {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) continue;
        if (signal != SIGHUP) break;
        tell_service_manager(ServiceState::kReloading);
        if (const auto reloaded = (*gateway)->reload(); !reloaded)
            log::error("configuration not reloaded; the old one stays",
                       {{"reason", reloaded.error().message}});
        tell_service_manager(ServiceState::kReady);
    }
    tell_service_manager(ServiceState::kStopping);
    log::info("stopping");
    (*gateway)->stop();
    return 0;
}

}  // namespace crab::gateway
