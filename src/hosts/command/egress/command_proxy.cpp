#include "hosts/command/egress/command_proxy.hpp"

#include "base/log.hpp"
#include "hosts/command/egress/proxied_connection.hpp"
#include "json/writer.hpp"

#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace crab::command {
namespace {

constexpr std::size_t kMostConnections = 256;   ///< of both sides of one command

/// A tool that reads slowly harms itself only: its time limits end it.
const net::ConnectionLimits kLimits{.stall = std::chrono::hours(24)};

}  // namespace

void CommandProxy::listen(Descriptor listening) {
    if (closed_ || acceptor_) return;
    const int fd = ::fcntl(listening.get(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        return log::warn("no descriptor for the egress proxy",
                         {{"call_id", user_.call_id}, {"trace_id", user_.trace_id}});
    }
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    acceptor_ = std::make_shared<net::Acceptor>(services_.loop, fd,
                                                [weak = weak_from_this()](int accepted) {
                                                    const auto self = weak.lock();
                                                    if (self)
                                                        self->serve(accepted);
                                                    else
                                                        ::close(accepted);
                                                });
}

void CommandProxy::serve(int fd) {
    if (closed_ || open_.size() >= kMostConnections) {
        ::close(fd);
        return;
    }
    net::Connection::accepted(services_.loop, fd, nullptr, kLimits,
                              std::make_shared<ProxiedConnection>(shared_from_this()));
}

void CommandProxy::close() {
    if (std::exchange(closed_, true)) return;
    if (acceptor_) {
        acceptor_->close();
        services_.loop.destroy_later(std::exchange(acceptor_, nullptr));
    }
    for (net::Connection* const connection : std::vector(open_.begin(), open_.end())) {
        if (open_.contains(connection)) connection->close_now(net::CloseReason::kLocal);
    }
}

void CommandProxy::refused(std::string_view target, std::string_view why) {
    const bool recorded = services_.audit.append_event(
        {.kind = "egress.refused", .by = user_.principal}, [&](json::Writer& writer) {
            writer.key("call_id")
                .string_lossy(user_.call_id)
                .key("principal")
                .string_lossy(user_.principal)
                .key("provider")
                .string(user_.provider);
            writer.key("tool")
                .string(user_.tool)
                .key("target")
                .string_lossy(target)
                .key("reason")
                .string(why);
        });
    if (!recorded) return;
    log::warn("a command may not connect there", {{"call_id", user_.call_id},
                                                  {"trace_id", user_.trace_id},
                                                  {"provider", user_.provider},
                                                  {"target", target},
                                                  {"reason", why}});
}

}  // namespace crab::command
