#include "net/http2/http2_server.hpp"

#include "base/exception_text.hpp"
#include "base/log.hpp"
#include "base/task/spawn.hpp"

#include <array>
#include <cassert>
#include <exception>
#include <utility>

#include <unistd.h>

namespace crab::net {
namespace {

/// Who stands before this could have checked the other one; HTTP/1.1 has the same rule.
Task<void> refuse(std::shared_ptr<Http2Stream> stream) {
    static constexpr std::array<HttpHeader, 1> kRefused{{{":status", "400"}}};
    stream->send_head(kRefused, Http2Stream::Last::kYes);
    co_return;
}

}  // namespace

Http2Server::Http2Server(EventLoop& loop, Http2Service& service, Http2ServerOptions options)
    : loop_(loop),
      service_(service),
      options_(std::move(options)),
      connections_(loop, {.all = options_.max_connections}, options_.count) {}

Http2Server::~Http2Server() {
    connections_.close();
    assert(connections_.running() == 0 && "stop() a server before it is destroyed");
}

Result<void> Http2Server::listen(Listener& listener) {
    return connections_.listen(listener, [this](int accepted) { serve(accepted); });
}

void Http2Server::serve(int fd) {
    const auto slot = connections_.accepting() ? connections_.slots().take() : nullptr;
    if (!slot || slot->before() >= options_.max_connections) {
        ::close(fd);
        return;
    }
    Http2Session::Events events;
    events.on_stream = [this](const std::shared_ptr<Http2Stream>& stream) { begin(stream); };
    auto session = std::make_shared<Http2Session>(loop_, Http2Session::Role::kServer,
                                                  options_.limits, std::move(events));
    session->hold(slot);
    connections_.slots().attach(
        slot, Connection::accepted(loop_, fd, options_.tls.get(), options_.connection,
                                   std::move(session)));
}

void Http2Server::begin(const std::shared_ptr<Http2Stream>& stream) {
    connections_.serving_begun();
    auto ended = [this, stream](const std::exception_ptr& failure) {
        if (failure && !stream->gone())
            log::error("stream failed", {{"path", stream->fields().find(":path").value_or("")},
                                         {"reason", text_of(failure)}});
        if (!stream->finished()) stream->reset(Http2Error::kInternal);
        connections_.serving_ended();
    };
    const bool ambiguous = stream->fields().has_more_than_one("authorization");
    spawn(loop_.executor(), ambiguous ? refuse(stream) : service_.serve(stream), std::move(ended),
          &stream->canceller());
}

std::vector<std::shared_ptr<Http2Session>> Http2Server::sessions() const {
    std::vector<std::shared_ptr<Http2Session>> all;
    for (const auto& connection : connections_.slots().connections()) {
        if (auto session = std::dynamic_pointer_cast<Http2Session>(connection->handler()))
            all.push_back(std::move(session));
    }
    return all;
}

void Http2Server::stop_accepting() {
    connections_.stop_accepting();
    for (const auto& connection : connections_.slots().connections()) {
        if (connection->is_handshaking()) connection->close_now(CloseReason::kShutdown);
    }
    for (const auto& session : sessions()) session->finish();
}

void Http2Server::cancel() {
    for (const auto& session : sessions()) session->cancel_streams();
}

void Http2Server::stop(std::function<void()> done) {
    connections_.stop(std::move(done));
    stop_accepting();
    for (const auto& session : sessions()) session->stop();
    connections_.check_stopped();
}

}  // namespace crab::net
