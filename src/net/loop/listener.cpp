#include "net/loop/listener.hpp"

#include "base/log.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace crab::net {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptsPerTurn = 128;
constexpr Milliseconds kBackOff{100};

// Of silence before the kernel asks whether the other machine is still there, between its
// questions, and how many: a link that died without a word is noticed within two minutes, also
// while nothing is sent.
constexpr int kProbeAfterSeconds = 60;
constexpr int kProbeEverySeconds = 15;
constexpr int kProbes = 4;

std::unexpected<Error> cannot_listen(const Endpoint& endpoint, int error) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot listen on {}: {}", endpoint.text(), std::strerror(error)));
}

// Linux hands these on from a listening socket to those it accepts; that saves five calls for each.
void set_for_accepted(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kProbeAfterSeconds, sizeof kProbeAfterSeconds);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kProbeEverySeconds, sizeof kProbeEverySeconds);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

Result<int> bound_socket(const Endpoint& endpoint, const SocketAddress& address) {
    const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return cannot_listen(endpoint, errno);
    if (!endpoint.is_unix()) {
        const int on = 1;
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
        set_for_accepted(fd);
    } else {
        ::fchmod(fd,
                 0600);  // bind() gives the file the socket's mode, so that it never stands open
    }
    if (::bind(fd, address.data(), address.size) != 0 ||
        (endpoint.is_unix() && ::chmod(endpoint.path.c_str(), 0600) != 0) ||
        ::listen(fd, kBacklog) != 0) {
        const int error = errno;
        ::close(fd);
        return cannot_listen(endpoint, error);
    }
    return fd;
}

bool somebody_answers(const SocketAddress& address) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return true;
    const bool answered = ::connect(fd, address.data(), address.size) == 0 || errno == EAGAIN;
    ::close(fd);
    return answered;
}

Result<void> make_room(const Endpoint& endpoint, const SocketAddress& address) {
    const std::filesystem::path directory = std::filesystem::path(endpoint.path).parent_path();
    if (!directory.empty() && ::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return cannot_listen(endpoint, errno);
    struct stat existing{};
    if (::lstat(endpoint.path.c_str(), &existing) != 0) return {};
    if (!S_ISSOCK(existing.st_mode)) return cannot_listen(endpoint, EEXIST);
    if (somebody_answers(address)) return cannot_listen(endpoint, EADDRINUSE);
    ::unlink(endpoint.path.c_str());
    return {};
}

/// Of family 0 when there is none.
SocketAddress bound_address(int fd) {
    SocketAddress address;
    address.size = sizeof address.storage;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0)
        return {};
    return address;
}

std::uint16_t bound_port(int fd) {
    const SocketAddress address = bound_address(fd);
    return address.family() == AF_INET6
               ? ntohs(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port)
               : ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
}

int option_of(int fd, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

Result<Endpoint> endpoint_of(int fd) {
    const SocketAddress address = bound_address(fd);
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* host = nullptr;
    switch (address.family()) {
        case AF_INET: host = &reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr; break;
        case AF_INET6:
            host = &reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr;
            break;
        case AF_UNIX: {
            const auto& unix_address = reinterpret_cast<const sockaddr_un&>(address.storage);
            const std::size_t most = address.size - offsetof(sockaddr_un, sun_path);
            const std::string path(unix_address.sun_path, ::strnlen(unix_address.sun_path, most));
            if (!path.empty()) return Endpoint::unix_socket(path);
            break;
        }
        default: break;
    }
    if (host == nullptr || ::inet_ntop(address.family(), host, text.data(), text.size()) == nullptr)
        return fail(ErrorCode::kInvalidArgs,
                    "a socket that was passed has no address of TCP and no path");
    return Endpoint::tcp(text.data(), bound_port(fd));
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::bind(const Endpoint& endpoint) {
    const auto address = to_socket_address(endpoint);
    if (!address) return fail(address.error());
    if (endpoint.is_unix()) {
        if (auto room = make_room(endpoint, *address); !room) return fail(std::move(room.error()));
    }
    if (endpoint.port != 0 && !endpoint.is_unix()) {
        // SO_REUSEPORT would let two gateways of one user share a port and never notice.
        const int probe = ::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1;
        ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        const int error = ::bind(probe, address->data(), address->size) != 0 ? errno : 0;
        ::close(probe);
        if (error != 0) return cannot_listen(endpoint, error);
    }
    const auto fd = bound_socket(endpoint, *address);
    if (!fd) return fail(fd.error());
    std::unique_ptr<Listener> listener(new Listener(endpoint));
    listener->fd_ = *fd;
    listener->owns_path_ = endpoint.is_unix();
    if (!endpoint.is_unix()) listener->endpoint_.port = bound_port(*fd);
    return listener;
}

Result<std::unique_ptr<Listener>> Listener::adopt(int fd) {
    std::unique_ptr<Listener> listener(new Listener(Endpoint()));
    listener->fd_ = fd;
    listener->adopted_ = true;
    if (option_of(fd, SO_TYPE) != SOCK_STREAM || option_of(fd, SO_ACCEPTCONN) != 1)
        return fail(ErrorCode::kInvalidArgs,
                    "what was passed is no stream socket that listens (ListenStream=, Accept=no)");
    auto endpoint = endpoint_of(fd);
    if (!endpoint) return fail(std::move(endpoint.error()));
    listener->endpoint_ = std::move(*endpoint);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (!listener->endpoint_.is_unix()) {
        set_for_accepted(fd);
        return listener;
    }
    struct stat file{};
    if (::stat(listener->endpoint_.path.c_str(), &file) != 0 || (file.st_mode & 0077) != 0)
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} is open to others than its owner: SocketMode=0600",
                                listener->endpoint_.text()));
    return listener;
}

Listener::~Listener() {
    if (fd_ >= 0) ::close(fd_);
    if (owns_path_) ::unlink(endpoint_.path.c_str());
}

Result<int> Listener::descriptor() {
    if (adopted_) {
        const int copy = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) return cannot_listen(endpoint_, errno);
        return copy;
    }
    if (fd_ >= 0) return std::exchange(fd_, -1);
    if (endpoint_.is_unix())
        return fail(ErrorCode::kUnavailable,
                    "one loop accepts for a Unix socket, and one has it already");
    const auto address = to_socket_address(endpoint_);
    if (!address) return fail(address.error());
    return bound_socket(endpoint_, *address);
}

Acceptor::Acceptor(EventLoop& loop, int fd, std::function<void(int fd)> on_accept)
    : loop_(loop), fd_(fd), on_accept_(std::move(on_accept)) {
    loop_.watch(fd_, EPOLLIN, *this);
}

Acceptor::~Acceptor() { close(); }

void Acceptor::close() {
    if (fd_ < 0) return;
    disarm();
    loop_.unwatch(fd_, *this);
    ::close(std::exchange(fd_, -1));
}

void Acceptor::on_ready(std::uint32_t) {
    for (int i = 0; i < kAcceptsPerTurn && fd_ >= 0; ++i) {
        const int accepted = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0) {
            on_accept_(accepted);
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO || errno == EPERM) continue;
        log::warn("cannot accept connections",
                  {{"reason", std::strerror(errno)}, {"retry_ms", kBackOff.count()}});
        return loop_.timers().arm(*this, loop_.now() + kBackOff);
    }
    if (fd_ >= 0) loop_.call_again(shared_from_this(), EPOLLIN);  // more may wait; others first
}

void Acceptor::on_expired() { on_ready(EPOLLIN); }

}  // namespace crab::net
