#include "net/http2_server.hpp"

#include "base/exception_text.hpp"
#include "base/log.hpp"
#include "base/spawn.hpp"

#include <cassert>
#include <exception>
#include <utility>

#include <unistd.h>

namespace crab::net {

Http2Server::Http2Server(EventLoop& loop, Http2Service& service, Http2ServerOptions options)
    : loop_(loop), service_(service), options_(std::move(options)) {
    if (!options_.count) options_.count = std::make_shared<std::atomic<std::size_t>>(0);
}

Http2Server::~Http2Server() {
    for (const auto& acceptor : acceptors_) acceptor->close();
    while (!open_.empty()) {
        if (const auto connection = open_.begin()->second.lock()) connection->close_now(CloseReason::kShutdown);
    }
    assert(running_ == 0 && "stop() a server before it is destroyed");
}

Result<void> Http2Server::listen(Listener& listener) {
    const auto fd = listener.descriptor();
    if (!fd) return fail(fd.error());
    acceptors_.push_back(std::make_shared<Acceptor>(loop_, *fd, [this](int accepted) { serve(accepted); }));
    return {};
}

void Http2Server::serve(int fd) {
    if (!accepting_ || options_.count->load(std::memory_order_relaxed) >= options_.max_connections) {
        ::close(fd);
        return;
    }
    Http2Session::Events events;
    events.on_stream = [this](const std::shared_ptr<Http2Stream>& stream) { begin(stream); };
    events.on_closed = [this](Http2Session& session) {
        open_.erase(&session);
        options_.count->fetch_sub(1, std::memory_order_relaxed);
        check_stopped();
    };
    auto session = std::make_shared<Http2Session>(loop_, Http2Session::Role::kServer, options_.limits, std::move(events));
    options_.count->fetch_add(1, std::memory_order_relaxed);
    open_.emplace(session.get(), std::weak_ptr<Connection>());
    const auto connection = Connection::accepted(loop_, fd, options_.tls.get(), options_.connection, session);
    if (const auto entry = open_.find(session.get()); entry != open_.end()) entry->second = connection;
}

void Http2Server::begin(const std::shared_ptr<Http2Stream>& stream) {
    ++running_;
    auto ended = [this, stream](const std::exception_ptr& failure) {
        if (failure && !stream->gone()) log::error("stream failed", {{"path", stream->fields().find(":path").value_or("")}, {"reason", text_of(failure)}});
        if (!stream->finished()) stream->reset(Http2Error::kInternal);
        --running_;
        check_stopped();
    };
    spawn(loop_.executor(), service_.serve(stream), std::move(ended), &stream->canceller());
}

std::vector<Http2Session*> Http2Server::sessions() const {
    std::vector<Http2Session*> all;
    for (const auto& [session, connection] : open_) all.push_back(session);
    return all;
}

void Http2Server::stop_accepting() {
    accepting_ = false;
    for (const auto& acceptor : std::exchange(acceptors_, {})) {
        acceptor->close();
        loop_.bury(acceptor);
    }
    for (Http2Session* const session : sessions()) {
        if (open_.contains(session)) session->finish();
    }
}

void Http2Server::cancel() {
    for (Http2Session* const session : sessions()) {
        if (open_.contains(session)) session->cancel_streams();
    }
}

void Http2Server::stop(std::function<void()> done) {
    stopping_ = true;
    on_stopped_ = std::move(done);
    stop_accepting();
    for (Http2Session* const session : sessions()) {
        const auto entry = open_.find(session);
        if (entry == open_.end()) continue;
        const auto connection = entry->second.lock();
        if (session->is_open()) {
            session->stop();
        } else if (connection) {  // in its TLS handshake
            connection->close_now(CloseReason::kShutdown);
        }
    }
    check_stopped();
}

void Http2Server::check_stopped() {
    if (!stopping_ || !open_.empty() || running_ != 0 || !on_stopped_) return;
    loop_.post(std::exchange(on_stopped_, nullptr));
}

}  // namespace crab::net
