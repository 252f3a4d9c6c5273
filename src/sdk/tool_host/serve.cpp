#include "sdk/tool_host/serve.hpp"

#include "base/log.hpp"
#include "net/loop/journal.hpp"

#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace crab::sdk {
namespace {

/// `host:port`, with the path if it is not the usual one; this machine's name where every address
/// is listened on.
std::string dialled_by_others(net::Endpoint endpoint, const std::string& pair_path) {
    char name[256] = {};
    const bool any = endpoint.host == "0.0.0.0" || endpoint.host == "::";
    if (any && ::gethostname(name, sizeof name - 1) == 0) endpoint.host = name;
    return endpoint.text() + (pair_path == "/v1/pair" ? "" : pair_path);
}

}  // namespace

int serve_until_signal(const HostEngine::Options& options) {
    // Signals are taken here; every thread inherits the mask.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    // a file that may not grow is an error of the write, as a full disk is
    std::signal(SIGXFSZ, SIG_IGN);

    log::configure(log::Level::kInfo, log::Format::kText);
    log::set_sink(net::journal_of_standard_error());
    const auto host = HostEngine::start(options);
    if (!host) {
        fmt::print(stderr, "crab host: {}\n", host.error().message);
        return 1;
    }
    if (options.paired) {
        fmt::print(stderr, "at the gateway: crab peers pair tool wss://{} {} --remote-key {}\n",
                   dialled_by_others((*host)->endpoint(), options.paired->pair_path),
                   options.paired->component_id, (*host)->remote_key());
        fmt::print("remote_key={}\ncrab host ready name={} listen={}\n", (*host)->remote_key(),
                   options.service, (*host)->endpoint().text());
    } else {
        fmt::print("crab host ready name={} unix={}\n", options.service, options.socket.string());
    }
    std::fflush(stdout);
    for (int signal = 0; sigwait(&signals, &signal) != 0;) {}
    log::info("stopping");
    (*host)->stop();
    return 0;
}

}  // namespace crab::sdk
