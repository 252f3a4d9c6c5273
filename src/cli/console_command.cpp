#include "base/process/stop_event.hpp"
#include "base/process/subprocess.hpp"
#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/gateway_endpoint.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/interrupt.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "console/bridge/console_bridge.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

void print_link(const std::string& link) {
    print_line("crab console ready " + link);
    std::fflush(stdout);
}

/// Each line that is typed makes another link; the end of the input makes none.
void make_links(console::ConsoleBridge& bridge, const StopEvent& stop) {
    int input = STDIN_FILENO;
    for (;;) {
        std::array<pollfd, 2> wanted{pollfd{stop.fd(), POLLIN, 0}, pollfd{input, POLLIN, 0}};
        if (::poll(wanted.data(), wanted.size(), -1) < 0) continue;
        if (wanted[0].revents != 0) return;
        std::array<char, 256> typed;
        const ssize_t got = ::read(input, typed.data(), typed.size());
        if (got <= 0) {
            input = -1;  // a closed one is not waited for
            continue;
        }
        if (std::string_view(typed.data(), static_cast<std::size_t>(got)).contains('\n'))
            print_link(bridge.open_link().reveal());
    }
}

/// The desktop's browser. Arguments of a process are seen by everybody here, and a code that
/// somebody else uses first is told by the page; so this is asked for, never done by itself.
void open_browser(const std::string& link) {
    const RealClock clock;
    // in a session of its own: a browser that starts now outlives this command
    const auto ended = run_subprocess({.argv = {"setsid", "--fork", "xdg-open", link},
                                       .deadline = clock.steady_now() + std::chrono::seconds(5)});
    if (!ended || ended->exit_status != 0)
        complain("no browser could be started; open the link yourself");
}

}  // namespace

int run(const ConsoleRun& options) {
    const auto socket = find_socket(options.target);
    if (!socket) return report(socket.error());
    // Whoever starts it wants to know now that nothing answers, not from an empty page.
    const auto status = fetch(options.target, "/v1/admin/status");
    if (!status) return report(status.error());
    std::signal(SIGPIPE, SIG_IGN);
    const StopEvent stop;
    const Interrupt interrupt([&stop] { stop.raise(); });
    auto bridge = console::ConsoleBridge::start({.admin_socket = socket->string(),
                                                 .port = options.port,
                                                 .principal = fmt::format("local/{}", ::getuid()),
                                                 .version = text_of(*status, "version"),
                                                 .read_only = options.read_only,
                                                 .idle = options.idle});
    if (!bridge) return report(bridge.error());
    const Secret<std::string> link = (*bridge)->open_link();
    print_link(link.reveal());
    print_line(
        "The link works once, within 60 s. Enter makes another; Ctrl-C ends the console and its "
        "sessions.");
    std::fflush(stdout);
    if (options.open) open_browser(link.reveal());
    make_links(**bridge, stop);
    return kExitOk;
}

}  // namespace crab::cli
