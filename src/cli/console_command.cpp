#include "base/process/child.hpp"
#include "base/process/file.hpp"
#include "base/process/stop_event.hpp"
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
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

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

/// In a session of its own, because a browser that starts now outlives this command. False: there
/// is no such program.
bool start_browser(std::string file) {
    ChildProgram program{.words = {"xdg-open", std::move(file)}, .own_session = true};
    for (char** each = environ; *each != nullptr; ++each) program.environment.emplace_back(*each);
    Child browser;
    if (browser.start(std::move(program)) != 0) return false;
    browser.leave();
    return true;
}

/// A file that sends a browser to the link: arguments of a program, with the link among them, are
/// for every user of the machine to read. It is there as long as this.
class LinkFile {
public:
    explicit LinkFile(const std::filesystem::path& folder)
        : path_(folder / fmt::format("console-{}.html", ::getpid())) {}
    LinkFile(const LinkFile&) = delete;
    LinkFile& operator=(const LinkFile&) = delete;
    ~LinkFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    /// Starts this desktop's browser.
    void open(const std::string& link) const {
        const auto written = replace_file(
            path_, fmt::format("<!doctype html><meta charset=utf-8><title>crab console</title>"
                               "<meta http-equiv=refresh content=\"0;url={}\">\n",
                               link));
        if (!written || !start_browser(path_.string()))
            complain("no browser could be started; open the link yourself");
    }

private:
    const std::filesystem::path path_;
};

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
    const LinkFile file(socket->parent_path());
    if (options.open) file.open(link.reveal());
    make_links(**bridge, stop);
    return kExitOk;
}

}  // namespace crab::cli
