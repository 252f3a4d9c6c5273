#include "hosts/command/egress/egress_proxy.hpp"

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "hosts/command/egress/command_proxy.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

/// The descriptor that came with one byte over a Unix socket; none when something else came.
Descriptor receive_descriptor(int socket) {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0) return {};
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof(int)))
        return {};
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return Descriptor(fd);
}

class SandboxSocket final : public command::EgressSocket {
public:
    SandboxSocket(Descriptor inside, Descriptor outside, std::shared_ptr<CommandProxy> proxy,
                  net::EventLoop& loop)
        : inside_(std::move(inside)),
          outside_(std::move(outside)),
          proxy_(std::move(proxy)),
          loop_(loop) {}
    ~SandboxSocket() override {
        loop_.post([proxy = std::move(proxy_)] { proxy->close(); });
    }

    int inside() const override { return inside_.get(); }
    void close_inside() override { inside_.close(); }
    int outside() const override { return outside_.get(); }
    void take() override {
        Descriptor listening = receive_descriptor(outside_.get());
        outside_.close();
        if (!listening.is_open()) return log::warn("a sandbox sent no proxy socket", {});
        loop_.post([proxy = proxy_, socket = std::make_shared<Descriptor>(std::move(listening))] {
            proxy->listen(std::move(*socket));
        });
    }

private:
    Descriptor inside_, outside_;
    std::shared_ptr<CommandProxy> proxy_;
    net::EventLoop& loop_;
};

}  // namespace

Result<std::unique_ptr<command::EgressSocket>> EgressProxy::open_socket(command::EgressUser user) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(ErrorCode::kUnavailable,
                    fmt::format("no socket for the egress proxy: {}", std::strerror(errno)));
    auto proxy = std::make_shared<CommandProxy>(services_, list_, std::move(user));
    return std::make_unique<SandboxSocket>(Descriptor(ends[0]), Descriptor(ends[1]),
                                           std::move(proxy), services_.loop);
}

}  // namespace crab::command
