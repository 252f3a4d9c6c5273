#include "bridge/unix_transport.hpp"

#include "bridge/dbus/watched_descriptor.hpp"
#include "net/loop/endpoint.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace crab::bridge {
namespace {

using cetp::Envelope;

/// A connected socket; not open when nobody answers there, with errno set.
Descriptor connect_to(const std::string& path) {
    const auto address = net::to_socket_address(net::Endpoint::unix_socket(path));
    if (!address) return {};
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open() || ::connect(socket.get(), address->data(), address->size) != 0)
        return {};
    return socket;
}

/// Whether whoever listens there is this user or root.
bool is_ours(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == ::geteuid() || peer.uid == 0);
}

}  // namespace

Task<Delivery> UnixTransport::send(const cetp::ProviderRecord& provider,
                                   const cetp::MethodCall& call, Deadline deadline) {
    const SteadyTime began = loop_.clock().steady_now();
    Descriptor connected = connect_to(provider.socket);
    if (!connected.is_open()) {
        if (errno == EACCES)
            co_return Envelope::error(cetp::code::kPermissionDenied,
                                      "the provider's socket may not be opened");
        co_return std::nullopt;
    }
    if (!is_ours(connected.get()))
        co_return Envelope::error(cetp::code::kPermissionDenied,
                                  "the provider's socket is served by another user");
    WatchedDescriptor socket(loop_, std::move(connected), EPOLLIN | EPOLLOUT | EPOLLRDHUP);
    if (!socket.is_open()) co_return std::nullopt;

    const std::string line = to_wire(call) + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t put =
            ::send(socket.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (put > 0) {
            sent += static_cast<std::size_t>(put);
        } else if (errno != EAGAIN) {
            co_return std::nullopt;
        } else if (const WaitEnd end = co_await socket.ready(deadline); end != WaitEnd::kWoken) {
            co_return Envelope::no_answer_within(deadline - began);
        }
    }
    ::shutdown(socket.get(), SHUT_WR);

    std::string reply;
    std::array<char, 16 * 1024> chunk;
    while (true) {
        const ssize_t got = ::recv(socket.get(), chunk.data(), chunk.size(), 0);
        if (got > 0) {
            reply.append(chunk.data(), static_cast<std::size_t>(got));
            if (reply.size() > kMaxEnvelope)
                co_return Envelope::too_large(reply.size(), kMaxEnvelope);
        } else if (got == 0) {
            co_return cetp::parse_envelope(reply);
        } else if (errno != EAGAIN) {
            co_return std::nullopt;
        } else if (const WaitEnd end = co_await socket.ready(deadline); end != WaitEnd::kWoken) {
            co_return Envelope::no_answer_within(deadline - began);
        }
    }
}

Task<void> UnixTransport::start_silently(const cetp::ProviderRecord&, Deadline) { co_return; }

}  // namespace crab::bridge
