#include "net/http/http_server.hpp"

#include "net/http/http_session.hpp"

#include <cassert>
#include <utility>

#include <unistd.h>

namespace crab::net {
namespace {

// connections beyond the limit that are told so; more are just closed
constexpr std::size_t kRefusedAtOnce = 256;

}  // namespace

HttpServer::HttpServer(EventLoop& loop, HttpService& service, HttpServerOptions options)
    : loop_(loop),
      service_(service),
      options_(std::move(options)),
      date_(loop.clock()),
      connections_(loop,
                   {.all = options_.max_connections,
                    .at_work_of_one_owner = options_.max_at_work_of_one,
                    .proven_at_open = options_.proven_at_open},
                   options_.count) {}

HttpServer::~HttpServer() {
    connections_.close();
    for (HttpSession* const session : orphans_) session->release_slot();
    assert(connections_.running() == 0 && "stop() a server before it is destroyed");
}

Result<void> HttpServer::listen(Listener& listener) {
    return connections_.listen(listener, [this](int accepted) { serve(accepted); });
}

void HttpServer::serve(int fd) {
    if (!connections_.accepting()) {
        ::close(fd);
        return;
    }
    const auto slot = connections_.slots().take();
    if (slot->before() >= options_.max_connections + kRefusedAtOnce) {
        ::close(fd);
        return;
    }
    const bool room = options_.proven_at_open || slot->before() < options_.max_connections;
    auto session = std::make_shared<HttpSession>(
        *this, room ? HttpSession::Admission::kServed : HttpSession::Admission::kTooMany, slot);
    connections_.slots().attach(
        slot, Connection::accepted(loop_, fd, options_.tls.get(), options_.connection,
                                   std::move(session)));
}

void HttpServer::stop_accepting() {
    connections_.stop_accepting();
    for (const auto& connection : connections_.slots().connections()) {
        if (connection->is_handshaking()) {
            connection->close_now(CloseReason::kShutdown);
            continue;
        }
        const auto handler = connection->handler();
        if (auto* const session = dynamic_cast<HttpSession*>(handler.get())) session->finish();
    }
}

void HttpServer::drain(Milliseconds limit, std::function<void()> done) {
    on_drained_ = std::move(done);
    stop_accepting();
    if (serving_ == 0) return end_drain();
    loop_.timers().arm(*this, loop_.now() + limit);
}

void HttpServer::end_drain() {
    disarm();
    if (on_drained_) loop_.post(std::exchange(on_drained_, nullptr));
}

void HttpServer::exchange_ended() {
    serving_ -= 1;
    if (serving_ == 0 && on_drained_) end_drain();
}

void HttpServer::end_connections(const std::function<bool(const Connection&)>& chosen,
                                 std::uint16_t code, std::string_view reason) {
    for (const auto& connection : connections_.slots().connections()) {
        if (!chosen(*connection)) continue;
        const auto handler = connection->handler();
        if (connection->is_handshaking()) {
            connection->close_now(CloseReason::kShutdown);
        } else if (auto* const websocket = dynamic_cast<WebSocketSession*>(handler.get())) {
            websocket->close(code, reason);
        } else if (auto* const session = dynamic_cast<HttpSession*>(handler.get())) {
            session->stop();
        }
    }
}

void HttpServer::stop(std::function<void()> done) {
    connections_.stop(std::move(done));
    end_connections([](const Connection&) { return true; }, close_code::kGoingAway,
                    "the server is stopping");
    for (HttpSession* const session : std::vector(orphans_.begin(), orphans_.end())) {
        if (orphans_.contains(session)) session->stop();
    }
    connections_.check_stopped();
}

}  // namespace crab::net
