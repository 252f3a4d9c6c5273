#include "net/http/http_exchange.hpp"

#include "base/log.hpp"
#include "net/codec/http_write.hpp"
#include "net/http/http_error.hpp"
#include "net/tls/connection.hpp"

#include <cassert>
#include <charconv>

namespace crab::net {
namespace {

// most bodies have 100 to 999 bytes; others are moved a little
constexpr std::string_view kGuessedLength = "000";
constexpr std::size_t kStreamWindow = 64 * 1024;

}  // namespace

bool HttpExchange::may_answer() {
    if (state_ == State::kBody) drop_response();
    if (state_ == State::kOpen) return true;
    log::error("a request was answered twice", {{"path", request_.path()}});
    return false;
}

std::string& HttpExchange::out() {
    return request_.connection != nullptr ? request_.connection->out() : nowhere_;
}

void HttpExchange::wake_reader() {
    if (incoming_.reader != nullptr) incoming_.reader->wake();
}

/// By the silence that is allowed, and by all the waiting that what has come so far is worth.
Deadline HttpExchange::body_due() const {
    const auto worth = incoming_.patience +
                       std::chrono::milliseconds(incoming_.received * 1000 / kLeastBytesPerSecond);
    return loop_.clock().steady_now() +
           std::min<std::chrono::nanoseconds>(incoming_.patience, worth - incoming_.waited);
}

Task<Result<std::string>> HttpExchange::read_body() {
    if (std::exchange(incoming_.continue_wanted, false) && request_.connection != nullptr) {
        append_status_line(request_.connection->out(), 100);
        append_head_end(request_.connection->out());
        request_.connection->mark_dirty();
    }
    Waiter waiter(loop_.timers());
    while (incoming_.bytes.empty() && !incoming_.ended && !incoming_.error) {
        incoming_.reader = &waiter;
        const SteadyTime began = loop_.clock().steady_now();
        const WaitEnd end = co_await waiter.wait(body_due());
        incoming_.waited += loop_.clock().steady_now() - began;
        incoming_.reader = nullptr;
        if (end == WaitEnd::kCancelled)
            co_return fail(ErrorCode::kCancelled, "the caller left in the middle of the body");
        if (end == WaitEnd::kExpired)
            co_return fail(ErrorCode::kTimeout, "the request body did not come in time");
    }
    if (incoming_.bytes.empty() && incoming_.error) co_return fail(*incoming_.error);
    std::string piece = std::exchange(incoming_.bytes, {});
    if (request_.connection != nullptr && request_.connection->paused())
        request_.connection->resume_reading();
    co_return piece;
}

std::string& HttpExchange::begin_head(int status, std::string_view content_type,
                                      std::span<const HttpHeader> extra) {
    if (!incoming_.ended) keep_alive_ = false;  // what is left of the body is not read
    std::string& out = this->out();
    start_at_ = out.size();
    status_ = status;
    append_status_line(out, status);
    out += date_->line(loop_.now());
    if (shared()) append_sharing();
    if (!content_type.empty() && !append_header(out, "Content-Type", content_type))
        log::error("content type is not a header value");
    for (const HttpHeader& header : extra) {
        if (!append_header(out, header.name, header.value))
            log::error("response header left out", {{"name", header.name}});
    }
    if (!keep_alive_) {
        append_connection_close(out);
    } else if (request_.head.minor_version == 0) {
        out += "Connection: keep-alive\r\n";
    }
    return out;
}

/// Fetch standard, "CORS protocol": the one origin, never all of them.
void HttpExchange::append_sharing() {
    std::string& out = this->out();
    if (!append_header(out, "Access-Control-Allow-Origin", shared_origin_)) return;
    out +=
        "Vary: Origin\r\n"
        "Access-Control-Expose-Headers: Content-Digest, ETag, Location, Mcp-Session-Id, "
        "Retry-After, WWW-Authenticate\r\n";
}

void HttpExchange::respond(int status, std::string_view content_type, std::string_view body,
                           std::span<const HttpHeader> extra) {
    if (!may_answer()) return;
    std::string& out = begin_head(status, content_type, extra);
    if (has_body(status)) append_content_length(out, body.size());
    append_head_end(out);
    if (has_body(status) && !head_only_) out += body;
    done();
}

void HttpExchange::respond_error(int status, std::string_view code, std::string_view message,
                                 std::span<const HttpHeader> extra) {
    std::string body;
    append_error_body(body, code, message);
    respond(status, "application/json", body, extra);
}

void HttpExchange::respond_error(const Error& error) {
    respond_error(http_status(error.code), token_of(error.code), error.message);
}

std::string& HttpExchange::begin_response(int status, std::string_view content_type,
                                          std::span<const HttpHeader> extra) {
    assert(has_body(status));
    if (!may_answer()) return nowhere_;
    std::string& out = begin_head(status, content_type, extra);
    out += "Content-Length: ";
    length_at_ = out.size();
    out += kGuessedLength;
    out += "\r\n\r\n";
    body_at_ = out.size();
    state_ = State::kBody;
    return out;
}

void HttpExchange::finish_response() {
    if (state_ != State::kBody) return;
    std::string& out = this->out();
    if (out.size() < body_at_) return done();  // the connection ended in between
    char digits[20];
    const char* const end =
        std::to_chars(digits, digits + sizeof digits, out.size() - body_at_).ptr;
    if (head_only_) out.resize(body_at_);
    out.replace(length_at_, kGuessedLength.size(), digits, static_cast<std::size_t>(end - digits));
    done();
}

void HttpExchange::drop_response() {
    if (request_.connection != nullptr && request_.connection->out().size() >= start_at_)
        request_.connection->out().resize(start_at_);
    state_ = State::kOpen;
}

void HttpExchange::start_stream(int status, std::string_view content_type,
                                std::span<const HttpHeader> extra) {
    if (!may_answer()) return;
    chunked_ = request_.head.minor_version >= 1;
    if (!chunked_) keep_alive_ = false;
    std::string& out = begin_head(status, content_type, extra);
    if (chunked_) append_chunked(out);
    append_head_end(out);
    state_ = State::kStream;
    if (request_.connection != nullptr) request_.connection->mark_dirty();
}

void HttpExchange::start_sized_stream(int status, std::string_view content_type,
                                      std::uint64_t length, std::span<const HttpHeader> extra) {
    if (!may_answer()) return;
    chunked_ = false;
    std::string& out = begin_head(status, content_type, extra);
    append_content_length(out, length);
    append_head_end(out);
    state_ = State::kStream;
    stream_left_ = length;
    if (request_.connection != nullptr) request_.connection->mark_dirty();
}

void HttpExchange::write_chunk(std::string_view bytes) {
    if (stream_left_) bytes = bytes.substr(0, *stream_left_), *stream_left_ -= bytes.size();
    if (state_ != State::kStream || request_.connection == nullptr || head_only_ ||
        !request_.connection->make_room())
        return;
    if (chunked_) {
        append_chunk(request_.connection->out(), bytes);
    } else {
        request_.connection->out() += bytes;
    }
    request_.connection->mark_dirty();
}

Task<void> HttpExchange::drained() {
    const TaskChain& chain = co_await this_chain();
    while (request_.connection != nullptr && !caller_gone_ && !chain.cancelled() &&
           request_.connection->queued_bytes() >= kStreamWindow) {
        co_await drained_.wait();
    }
}

void HttpExchange::end_stream() {
    if (state_ != State::kStream || (stream_left_.value_or(0) != 0 && !head_only_)) return;
    if (request_.connection != nullptr && chunked_ && !head_only_)
        append_last_chunk(request_.connection->out());
    done();
}

void HttpExchange::done() {
    state_ = State::kDone;
    nowhere_.clear();
    if (request_.connection != nullptr) request_.connection->mark_dirty();
}

}  // namespace crab::net
