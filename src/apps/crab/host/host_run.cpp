#include "apps/crab/host_run.hpp"

#include "base/log.hpp"
#include "config/paths.hpp"

#include <csignal>
#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::app {

int run_host(HostKind kind, const sdk::HostEngine::Options& where, const std::optional<net::Endpoint>& events_to) {
    // Signals are taken here; every thread inherits the mask.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, as a full disk is

    log::configure(log::Level::kInfo, log::Format::kText);
    if (const auto made = config::ensure_private_directory(where.state_dir, ::getuid()); !made) {
        fmt::print(stderr, "crab host: {}\n", made.error().message);
        return 1;
    }
    auto host = start_built_in_host(kind, where, events_to);
    if (!host) {
        fmt::print(stderr, "crab host: {}\n", host.error().message);
        return 1;
    }
    if (kind == HostKind::kCron && !events_to) log::warn("nobody takes events of this process; what fires waits in its store");
    if (const std::string key = (*host)->remote_key(); !key.empty()) fmt::print("remote_key={}\n", key);
    if (where.paired) {
        fmt::print("crab host ready name={} listen={}\n", name_of(kind), (*host)->endpoint().text());
    } else {
        fmt::print("crab host ready name={} unix={}\n", name_of(kind), where.socket.string());
    }
    std::fflush(stdout);
    for (int signal = 0; sigwait(&signals, &signal) != 0;) {}
    log::info("stopping");
    (*host)->stop();
    return 0;
}

}  // namespace crab::app
