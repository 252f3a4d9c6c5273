#include "cli/login_redirect.hpp"

#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace crab::cli {
namespace {

constexpr std::string_view kCallbackPath = "/callback";
constexpr std::size_t kMostBytes = std::size_t{16} << 10;
constexpr int kPatienceMs = 2000;  // for the rest of a request, on a connection of this machine

std::unexpected<Error> no_port(std::string_view what) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("no port for the answer of the login: {}", what));
}

bool wait_readable(int fd, int timeout_ms) {
    pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, timeout_ms) > 0;
}

/// The head of a request, or what came of it.
std::string read_head(int fd) {
    std::string head;
    std::array<char, 4096> piece;
    while (!head.contains("\r\n\r\n") && head.size() < kMostBytes &&
           wait_readable(fd, kPatienceMs)) {
        const ssize_t got = ::read(fd, piece.data(), piece.size());
        if (got <= 0) break;
        head.append(piece.data(), static_cast<std::size_t>(got));
    }
    return head;
}

void answer(int fd, std::string_view status, std::string_view sentence) {
    const std::string page =
        fmt::format("<!doctype html><meta charset=utf-8><title>crab</title><p>{}</p>", sentence);
    const std::string text = fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{}",
        status, page.size(), page);
    (void)::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

/// Whether this is the answer to that login.
bool answers(std::string_view address, std::string_view state) {
    const std::size_t question = std::min(address.find('?'), address.size());
    std::string_view query = address.substr(question == address.size() ? 0 : question + 1);
    query = query.substr(0, query.find('#'));
    return !state.empty() && net::find_query(query, "state") == state;
}

/// A line that was typed; nothing at the end of the input.
std::optional<std::string> read_line(int fd) {
    std::string line;
    char c = 0;
    while (line.size() < kMostBytes) {
        if (::read(fd, &c, 1) != 1) return line.empty() ? std::nullopt : std::optional(line);
        if (c == '\n') break;
        if (c != '\r' && !(line.empty() && c == ' ')) line += c;
    }
    return line;
}

}  // namespace

Result<LoginRedirect> LoginRedirect::open(std::uint16_t port) {
    Descriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    // no SO_REUSEPORT: nobody else may take the answer
    if (!listening.is_open() || ::bind(listening.get(), generic, size) != 0 ||
        ::listen(listening.get(), 8) != 0 || ::getsockname(listening.get(), generic, &size) != 0)
        return no_port(port == 0 ? "none is free" : fmt::format("{} is taken", port));
    return LoginRedirect(std::move(listening), fmt::format("http://127.0.0.1:{}{}",
                                                           ntohs(address.sin_port), kCallbackPath));
}

std::optional<std::string> LoginRedirect::serve_one(std::string_view state) {
    const Descriptor caller(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!caller.is_open()) return std::nullopt;
    const std::string head = read_head(caller.get());
    const std::size_t end = head.find(" HTTP/1.");
    if (!head.starts_with("GET /") || end == std::string::npos) {
        answer(caller.get(), "400 Bad Request", "This is not a request for a page.");
        return std::nullopt;
    }
    std::string target = head.substr(4, end - 4);
    const bool is_it = target.starts_with(kCallbackPath) && answers(target, state);
    if (!is_it) {
        answer(caller.get(), "404 Not Found", "There is nothing here.");
        return std::nullopt;
    }
    answer(
        caller.get(), "200 OK",
        "The answer has arrived. You can close this page; the terminal says how the login went.");
    return target;
}

std::optional<std::string> LoginRedirect::wait(std::string_view state, int input,
                                               Deadline deadline) {
    const RealClock clock;
    for (;;) {
        const auto left = std::chrono::ceil<Milliseconds>(deadline - clock.steady_now());
        if (left.count() <= 0) return std::nullopt;
        std::array<pollfd, 2> wanted{pollfd{listening_.get(), POLLIN, 0}, pollfd{input, POLLIN, 0}};
        const int timeout = static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000));
        if (::poll(wanted.data(), wanted.size(), timeout) < 0) continue;
        if (wanted[0].revents != 0) {
            if (auto target = serve_one(state)) return target;
        }
        if (wanted[1].revents == 0) continue;
        const auto line = read_line(input);
        if (!line) {
            input = -1;
        } else if (answers(*line, state)) {
            return line;
        } else if (!line->empty()) {
            complain("this is not the address that this login leads to");
        }
    }
}

}  // namespace crab::cli
