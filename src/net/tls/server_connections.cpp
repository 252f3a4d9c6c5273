#include "net/tls/server_connections.hpp"

#include <utility>

namespace crab::net {

ServerConnections::ServerConnections(EventLoop& loop, ConnectionSlots::Limits limits,
                                     ConnectionSlots::Count count)
    : loop_(loop), slots_(limits, std::move(count), [this] { check_stopped(); }) {}

Result<void> ServerConnections::listen(Listener& listener, std::function<void(int fd)> serve) {
    const auto fd = listener.descriptor();
    if (!fd) return fail(fd.error());
    acceptors_.push_back(std::make_shared<Acceptor>(loop_, *fd, std::move(serve)));
    return {};
}

void ServerConnections::stop_accepting() {
    accepting_ = false;
    for (const auto& acceptor : std::exchange(acceptors_, {})) {
        acceptor->close();
        loop_.destroy_later(acceptor);
    }
}

void ServerConnections::close() {
    for (const auto& acceptor : acceptors_) acceptor->close();
    for (const auto& connection : slots_.connections())
        connection->close_now(CloseReason::kShutdown);
}

void ServerConnections::serving_ended() {
    running_ -= 1;
    check_stopped();
}

void ServerConnections::stop(std::function<void()> done) {
    stopping_ = true;
    on_stopped_ = std::move(done);
    stop_accepting();
}

void ServerConnections::check_stopped() {
    if (!stopping_ || slots_.size() != 0 || running_ != 0 || !on_stopped_) return;
    loop_.post(std::exchange(on_stopped_, nullptr));
}

}  // namespace crab::net
