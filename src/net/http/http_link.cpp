#include "net/http/http_link.hpp"

#include "base/scope_exit.hpp"
#include "net/codec/http_write.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

#include <fmt/format.h>

namespace crab::net {
namespace {

constexpr std::size_t kFedBytes = std::size_t{256} << 10;  // of a streamed body, queued at once

Error lost(CloseReason reason) {
    return {.code = ErrorCode::kUnavailable,
            .message = fmt::format("the connection ended before the answer was complete ({})",
                                   name_of(reason))};
}

/// Of a request whose body follows in pieces. False, and nothing written, when a part is not fit
/// for a head.
bool append_head(std::string& out, const HttpCall& call, const std::string& host) {
    const std::size_t before = out.size();
    bool fit = append_request_line(out, call.method, call.target, host) &&
               (call.content_type.empty() || append_header(out, "Content-Type", call.content_type));
    for (const HttpHeader& header : call.headers)
        fit = fit && append_header(out, header.name, header.value);
    append_content_length(out, call.source->size());
    append_head_end(out);
    if (!fit) out.resize(before);
    return fit;
}

bool append_call(std::string& out, const HttpCall& call, const std::string& host) {
    if (call.source != nullptr) return append_head(out, call, host);
    return append_request(out, call.method, call.target, host, call.content_type, call.body,
                          call.headers);
}

}  // namespace

Task<HttpResult> HttpLink::exchange(const HttpCall& call, const std::string& host,
                                    Deadline deadline) {
    const std::shared_ptr<Connection> connection = connection_;
    const std::uint64_t before = connection ? connection->bytes_written() : 0;
    Exchange under_way{.waiter = Waiter(timers_),
                       .call = call,
                       .reply = {},
                       .sink = call.sink,
                       .taken = before,
                       .unsent = call.source != nullptr ? call.source->size() : 0,
                       .body = {},
                       .error = {}};
    const auto failure = [&](Error error) {
        close();
        return std::unexpected(
            HttpFailure{.error = std::move(error),
                        .written = connection && connection->bytes_written() > before,
                        .answered = under_way.answered});
    };
    if (!connection || !connection->is_open()) co_return failure(lost(CloseReason::kPeerClosed));
    if (!append_call(connection->out(), call, host)) {
        co_return failure({.code = ErrorCode::kInvalidArgs,
                           .message = "target, host or a header is not fit for a request"});
    }
    exchange_ = &under_way;
    const ScopeExit forget([this] { exchange_ = nullptr; });
    under_way.heard = connection->loop().now();
    feed();
    const WaitEnd how = co_await wait_for_end(under_way, *connection, deadline);
    exchange_ = nullptr;
    if (under_way.error) co_return failure(std::move(*under_way.error));
    if (under_way.done) {
        spent_ = spent_ || !under_way.keep_alive || under_way.unsent != 0 ||
                 connection->queued_bytes() != 0;
        co_return std::move(under_way.reply);
    }
    if (how == WaitEnd::kCancelled)
        co_return failure({.code = ErrorCode::kCancelled, .message = "the request was cancelled"});
    const bool silent =
        under_way.sink != nullptr && connection->loop().clock().steady_now() < deadline;
    co_return failure({.code = ErrorCode::kTimeout,
                       .message = silent ? "the other side fell silent"
                                         : "no complete answer before the deadline"});
}

/// At most until `deadline`, and while a sink's patience lasts.
Task<WaitEnd> HttpLink::wait_for_end(Exchange& under_way, Connection& connection,
                                     Deadline deadline) {
    const EventLoop& loop = connection.loop();
    const auto until = [&] {
        if (under_way.sink == nullptr) return deadline;
        under_way.patience = under_way.sink->patience();
        return std::min<Deadline>(deadline, under_way.heard + under_way.patience);
    };
    WaitEnd how = co_await under_way.waiter.wait(until());
    while (how == WaitEnd::kExpired || (how == WaitEnd::kWoken && !under_way.done)) {
        if (under_way.taken != connection.bytes_written()) {
            under_way.taken = connection.bytes_written();
            under_way.heard = loop.clock().steady_now();
        }
        if (loop.clock().steady_now() >= until()) break;
        how = co_await under_way.waiter.wait(until());
    }
    co_return how;
}

/// Queues as much of a streamed body as is worth it; the rest follows when that has been taken.
void HttpLink::feed() {
    Exchange& under_way = *exchange_;
    while (under_way.unsent > 0 && connection_->queued_bytes() < kFedBytes) {
        const std::string_view piece = under_way.call.source->next().substr(0, under_way.unsent);
        if (piece.empty())
            return end(
                Error{.code = ErrorCode::kCancelled, .message = "the request's body ended early"});
        connection_->out() += piece;
        under_way.unsent -= piece.size();
    }
    connection_->mark_dirty();
}

void HttpLink::on_drained(Connection& connection) {
    if (exchange_ == nullptr) return;
    exchange_->heard = connection.loop().now();
    exchange_->taken = connection.bytes_written();
    if (exchange_->unsent == 0) return;
    // In a later iteration: an answer that has come already ends the exchange first.
    connection.loop().post([this, alive = connection.shared_from_this()] {
        if (exchange_ != nullptr && connection_ == alive) feed();
    });
}

std::uint64_t HttpLink::max_body_bytes() const {
    const std::uint64_t asked = exchange_->call.max_body_bytes;
    return asked != 0 ? asked : max_body_bytes_;
}

bool HttpLink::is_idle() const {
    return !spent_ && exchange_ == nullptr && connection_ && connection_->is_open();
}

bool HttpLink::is_still_good() const {
    char byte = 0;  // an end of stream may wait in the kernel until the loop's next iteration
    return is_idle() && ::recv(connection_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
}

void HttpLink::close() {
    spent_ = true;
    owner_ = nullptr;
    if (const auto connection = std::move(connection_)) connection->close_now(CloseReason::kLocal);
}

std::size_t HttpLink::on_bytes(Connection& connection, std::span<char> bytes) {
    if (exchange_ == nullptr) {  // nobody asked
        spent_ = true;
        connection.close_after_flush();
        return bytes.size();
    }
    exchange_->answered = true;
    std::string_view rest(bytes.data(), bytes.size());
    exchange_->heard = connection.loop().now();
    if (!exchange_->body) rest.remove_prefix(read_heads(rest));
    if (exchange_ != nullptr && exchange_->body) read_body(rest);
    pause_for_sink(connection);
    return bytes.size() - rest.size();
}

std::size_t HttpLink::read_heads(std::string_view bytes) {
    std::size_t read = 0;
    while (!exchange_->body) {
        ResponseHead head;
        const HeadOutcome outcome = parse_response_head(bytes.substr(read), head);
        if (outcome.kind == HeadOutcome::Kind::kNeedMore) return read;
        const bool interim =
            outcome.kind == HeadOutcome::Kind::kComplete && head.status < 200 && head.status != 101;
        if (outcome.kind == HeadOutcome::Kind::kRefused || head.status == 101 ||
            (interim && ++exchange_->interim > kMostInterimAnswers)) {
            end(Error{.code = ErrorCode::kInternal,
                      .message = fmt::format("the answer is not HTTP: {}", outcome.reason.empty()
                                                                               ? "an unexpected 1xx"
                                                                               : outcome.reason)});
            return bytes.size();
        }
        read += outcome.consumed;
        if (interim) continue;
        const BodyFraming framing = head.framing(exchange_->call.method);
        BodyLimits limits;
        limits.max_body_bytes = max_body_bytes();
        exchange_->reply.status = head.status;
        for (const HttpHeader field : head.headers)
            exchange_->reply.headers.emplace_back(field.name, field.value);
        if (exchange_->sink != nullptr && !exchange_->sink->takes(exchange_->reply))
            exchange_->sink = nullptr;
        exchange_->keep_alive = head.keep_alive && framing != BodyFraming::kUntilClose;
        exchange_->body.emplace(framing, head.content_length.value_or(0), limits);
    }
    return read;
}

void HttpLink::read_body(std::string_view& bytes) {
    for (;;) {
        const BodyEvent event = exchange_->body->next(bytes);
        switch (event.kind) {
            case BodyEvent::Kind::kNeedMore: return;
            case BodyEvent::Kind::kData:
                if (hand_on(event.data)) continue;
                bytes = {};
                return;
            case BodyEvent::Kind::kEnd:
                if (!bytes.empty()) spent_ = true;  // more than was asked for
                bytes = {};
                return end(std::nullopt);
            case BodyEvent::Kind::kRefused:
                bytes = {};
                if (event.status == 413)
                    return end(Error{.code = ErrorCode::kOversize,
                                     .message = fmt::format("the answer has more than {} bytes",
                                                            max_body_bytes())});
                return end(
                    Error{.code = ErrorCode::kInternal,
                          .message = fmt::format("the answer is not HTTP: {}", event.reason)});
        }
    }
}

/// False when that was the last piece anybody wants.
bool HttpLink::hand_on(std::string_view piece) {
    Exchange* const under_way = exchange_;
    if (under_way->sink == nullptr) {
        under_way->reply.body += piece;
        return true;
    }
    const bool more = under_way->sink->on_body(piece);
    if (exchange_ != under_way) return false;
    // What the sink took its time for was not the other side's silence.
    under_way->heard = connection_->loop().clock().steady_now();
    if (!more) {
        end(Error{.code = ErrorCode::kCancelled,
                  .message = "the reader wanted no more of the answer"});
        return false;
    }
    if (under_way->sink->patience() < under_way->patience)
        under_way->waiter.wake();  // to wait anew, not as long
    return exchange_ == under_way;  // or it has run on, and given up
}

/// Lets a sink that is full have what has been read, and reads no more for it until it asks.
void HttpLink::pause_for_sink(Connection& connection) {
    if (exchange_ == nullptr || exchange_->sink == nullptr || !exchange_->body) return;
    // In a later iteration: the sink may have room again before this returns.
    const auto resume = [weak = connection.weak_from_this()] {
        const auto same = weak.lock();
        if (same) same->loop().post([same] { same->resume_reading(); });
    };
    if (exchange_->sink->pauses(resume)) connection.pause_reading();
}

void HttpLink::on_end_of_stream(Connection& connection) {
    spent_ = true;
    const std::shared_ptr<Connection> alive = connection.shared_from_this();
    if (exchange_ != nullptr && exchange_->body && exchange_->body->finish()) end(std::nullopt);
    alive->close_now(CloseReason::kPeerClosed);
}

void HttpLink::on_closed(Connection&, CloseReason reason) {
    spent_ = true;
    connection_.reset();
    if (exchange_ != nullptr) return end(lost(reason));
    if (owner_ != nullptr) std::exchange(owner_, nullptr)->on_kept_link_closed(*this);
}

/// The waiting coroutine runs on before this returns, and may have given the link to another by
/// then.
void HttpLink::end(std::optional<Error> error) {
    Exchange& under_way = *std::exchange(exchange_, nullptr);
    under_way.error = std::move(error);
    under_way.done = true;
    under_way.waiter.wake();
}

}  // namespace crab::net
