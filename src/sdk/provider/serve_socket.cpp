#include "sdk/provider/serve_socket.hpp"

#include "base/descriptor.hpp"
#include "base/scope_exit.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr std::size_t kMaxCall = std::size_t{1} << 20;
constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};  // for a caller to write and to read
constexpr std::size_t kMaxConnections = 64;

/// An address; nothing when the path is too long for one.
std::optional<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

/// A listening socket; not open with errno set otherwise.
Descriptor listen_at(const std::string& path) {
    const auto address = address_of(path);
    if (!address) return errno = ENAMETOOLONG, Descriptor();
    const auto* raw = reinterpret_cast<const sockaddr*>(&*address);
    {
        const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(probe.get(), raw, sizeof *address) == 0)
            return errno = EADDRINUSE, Descriptor();
        if (errno == ECONNREFUSED) ::unlink(path.c_str());
    }
    Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const mode_t before = ::umask(0177);
    const int bound = ::bind(listener.get(), raw, sizeof *address);
    ::umask(before);
    if (bound != 0 || ::listen(listener.get(), kMaxConnections) != 0) return Descriptor();
    return listener;
}

/// Everything up to the end; nothing when it is too much or does not come.
std::optional<std::string> read_all(int socket) {
    std::string text;
    std::array<char, 16 * 1024> chunk;
    while (true) {
        const ssize_t got = ::recv(socket, chunk.data(), chunk.size(), 0);
        if (got == 0) return text;
        if (got < 0 || text.size() + static_cast<std::size_t>(got) > kMaxCall) return std::nullopt;
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

void answer_one(ProviderTools& tools, const Descriptor& socket) {
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
        ::setsockopt(socket.get(), SOL_SOCKET, option, &kPatience, sizeof kPatience);
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    const auto text = read_all(socket.get());
    const auto call = text ? cetp::parse_method_call(*text)
                           : fail(ErrorCode::kOversize, "the call is too long, or did not come");
    const cetp::Envelope envelope =
        call ? tools.answer(*call, {.uid = peer.uid, .pid = peer.pid})
             : cetp::Envelope::error(cetp::code::kInvalidArgs, call.error().message);
    const std::string reply = to_wire(envelope);
    for (std::size_t sent = 0; sent < reply.size();) {
        const ssize_t put =
            ::send(socket.get(), reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (put <= 0) return;
        sent += static_cast<std::size_t>(put);
    }
}

/// One call and the thread that answers it.
struct Connection {
    std::shared_ptr<std::atomic<bool>> done = std::make_shared<std::atomic<bool>>(false);
    std::jthread thread;
    Connection(ProviderTools& tools, Descriptor socket)
        : thread([&tools, socket = std::move(socket), ended = done] {
              answer_one(tools, socket);
              *ended = true;
          }) {}
};

}  // namespace

int serve_socket(ProviderTools& tools, const std::string& path) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    const Descriptor end(::signalfd(-1, &signals, SFD_CLOEXEC));
    const Descriptor listener = listen_at(path);
    if (!listener.is_open()) {
        fmt::print(stderr, "{}: {}\n", path, std::strerror(errno));
        return 1;
    }
    const ScopeExit remove([&path] { ::unlink(path.c_str()); });
    std::list<Connection> connections;  // each joins its thread as it goes
    while (true) {
        std::array<pollfd, 2> ready{pollfd{listener.get(), POLLIN, 0},
                                    pollfd{end.get(), POLLIN, 0}};
        if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) break;
        if (ready[1].revents != 0) break;
        if (ready[0].revents == 0) continue;
        Descriptor accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!accepted.is_open()) continue;
        connections.remove_if([](const Connection& connection) { return connection.done->load(); });
        // else it is closed: no envelope
        if (connections.size() < kMaxConnections)
            connections.emplace_back(tools, std::move(accepted));
    }
    return 0;
}

}  // namespace crab::sdk
