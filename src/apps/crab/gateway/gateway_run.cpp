#include "apps/crab/gateway_run.hpp"

#include "apps/crab/exit_codes.hpp"
#include "apps/crab/gateway/agent_side.hpp"
#include "apps/crab/gateway/call_rules.hpp"
#include "apps/crab/gateway/config_findings.hpp"
#include "apps/crab/gateway/gateway.hpp"
#include "apps/crab/gateway/service_manager.hpp"
#include "apps/crab/gateway/turn_runners.hpp"
#include "apps/crab/host/hosted_commands.hpp"
#include "base/log.hpp"
#include "config/load.hpp"

#include <csignal>
#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::app {

Result<void> check_rules(const config::GatewayConfig& config, const config::Paths& paths) {
    BlockingPool pool(1);
    if (auto made = make_call_rules(config, pool); !made) return fail(std::move(made.error()));
    if (auto made = make_turn_setup(config); !made) return fail(std::move(made.error()));
    if (auto made = AgentSide::read_agents(config); !made) return fail(std::move(made.error()));
    return check_commands(config, {paths.state_dir_of(config), paths.admin_socket_of(config).parent_path()});
}

int run_gateway(const GatewayRunOptions& options) {
    // Signals are taken here, one after the other; every thread inherits the mask.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, as a full disk is

    const Gateway::Places places{.state_dir = options.paths.state_dir_of(options.config), .admin_socket = options.paths.admin_socket_of(options.config)};
    for (const auto& directory : {places.state_dir, places.admin_socket.parent_path()}) {
        if (const auto made = config::ensure_private_directory(directory, ::getuid()); !made) {
            fmt::print(stderr, "crab gateway: {}\n", made.error().message);
            return 1;
        }
    }
    const auto read_again = [&options] { return config::load_first(options.config_file, options.paths); };
    auto gateway = Gateway::start(options.config, places, read_again);
    if (!gateway) {
        fmt::print(stderr, "crab gateway: {}\n", gateway.error().message);
        return 1;
    }
    // What does not keep it from running, but is not as somebody meant it.
    ConfigFindings findings = look_around(options.config, options.paths, ::getuid());
    findings.warnings.insert(findings.warnings.end(), findings.problems.begin(), findings.problems.end());
    for (const std::string& warning : findings.warnings) log::warn("something of the configuration does not work here", {{"what", warning}});
    fmt::print("crab gateway ready public={} admin={}", (*gateway)->public_endpoint().empty() ? "off" : (*gateway)->public_endpoint(), (*gateway)->admin_socket());
    fmt::print("{}{}", (*gateway)->grpc_endpoint().empty() ? "" : " grpc=", (*gateway)->grpc_endpoint());
    fmt::print("{}{}\n", (*gateway)->peer_endpoint().empty() ? "" : " peers=", (*gateway)->peer_endpoint());
    std::fflush(stdout);
    tell_service_manager(ServiceState::kReady);
    for (;;) {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) continue;
        if (signal != SIGHUP) break;
        tell_service_manager(ServiceState::kReloading);
        if (const auto reloaded = (*gateway)->reload(); !reloaded) log::error("configuration not reloaded; the old one stays", {{"reason", reloaded.error().message}});
        tell_service_manager(ServiceState::kReady);
    }
    tell_service_manager(ServiceState::kStopping);
    log::info("stopping");
    (*gateway)->stop();
    return 0;
}

}  // namespace crab::app
