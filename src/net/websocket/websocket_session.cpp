#include "net/websocket/websocket_session.hpp"

#include <array>
#include <cerrno>
#include <functional>
#include <system_error>
#include <utility>

#include <sys/random.h>

namespace crab::net {

static_assert(sizeof(Connection) + sizeof(WebSocketSession) <= 1024,
              "an idle WebSocket pays for this");

namespace {

constexpr std::uint16_t kNoPong = 4408;
constexpr std::uint16_t kLinkBroken = 1006;

// A message may take this long, and longer as far as it gets on by so much.
constexpr std::chrono::seconds kMessageTime{30};
constexpr std::size_t kLeastBytesPerSecond = 1024;

// One pair per thread serves all its connections: every message stands alone (RFC 7692 without
// context takeover).
MessageInflater& inflater() {
    thread_local MessageInflater instance;
    return instance;
}
MessageDeflater& deflater() {
    thread_local MessageDeflater instance;
    return instance;
}

// Where messages go that are written to a session that is over, and those that will be compressed.
std::string& aside() {
    thread_local std::string text;
    return text;
}

std::string& collected() {
    thread_local std::string text;
    return text;
}

std::uint32_t random_mask() {
    thread_local std::array<std::uint32_t, 64> masks;
    thread_local std::size_t left = 0;
    if (left == 0) {
        if (::getrandom(masks.data(), sizeof masks, 0) != sizeof masks)
            throw std::system_error(errno, std::generic_category(), "getrandom");
        left = masks.size();
    }
    return masks[--left];
}

WebSocketDecoder::Options decoder_options(const WebSocketOptions& options) {
    return {.role = options.role,
            .max_message_bytes = options.max_message_bytes,
            .inflater = options.deflate ? &inflater() : nullptr};
}

}  // namespace

WebSocketSession::WebSocketSession(const WebSocketOptions& options,
                                   std::shared_ptr<WebSocketHandler> handler)
    : decoder_(decoder_options(options)),
      handler_(std::move(handler)),
      options_(options),
      partial_(options.budget) {}

WebSocketSession::~WebSocketSession() = default;

void WebSocketSession::attach(Connection& connection) {
    loop_ = &connection.loop();
    connection_ = &connection;
    peer_ = connection.peer();
    state_ = State::kOpen;
    if (options_.budget) connection.charge_output(std::exchange(options_.budget, nullptr));
    last_heard_ = loop_->now();
    watch_liveness(last_heard_);
    handler_->on_open(*this);
}

Mask WebSocketSession::next_mask() const {
    return options_.role == WebSocketDecoder::Role::kClient ? Mask(random_mask()) : std::nullopt;
}

std::string& WebSocketSession::begin_text() {
    writing_ = is_open() && connection_->make_room();
    if (!writing_ || options_.deflate) {
        aside().clear();
        return aside();
    }
    std::string& out = connection_->out();
    open_frame_ = begin_frame(out, Opcode::kText, next_mask());
    return out;
}

void WebSocketSession::end_text() {
    if (!std::exchange(writing_, false) || connection_ == nullptr) return;
    if (options_.deflate) return send(Opcode::kText, aside());
    finish_frame(connection_->out(), open_frame_);
    connection_->mark_dirty();
}

void WebSocketSession::send(Opcode opcode, std::string_view payload) {
    if (!is_open() || !connection_->make_room()) return;
    std::string& out = connection_->out();
    if (options_.deflate && payload.size() > options_.deflate_above &&
        (opcode == Opcode::kText || opcode == Opcode::kBinary)) {
        std::string compressed = loop_->take_buffer();
        deflater().deflate(payload, options_.deflate_window_bits, compressed);
        append_frame(out, opcode, compressed, next_mask(), Compressed::kYes);
        compressed.clear();
        loop_->give_buffer(std::move(compressed));
    } else {
        append_frame(out, opcode, payload, next_mask());
    }
    connection_->mark_dirty();
}

void WebSocketSession::send_text(std::string_view text) { send(Opcode::kText, text); }
void WebSocketSession::ping(std::string_view payload) {
    send(Opcode::kPing, payload.substr(0, 125));
}

void WebSocketSession::close(std::uint16_t code, std::string_view reason) {
    if (!is_open()) return;
    append_close(connection_->out(), code, reason, next_mask());
    connection_->mark_dirty();
    connection_->resume_reading();
    state_ = State::kClosing;
    close_code_ = code;
    close_reason_ = reason;
    loop_->timers().arm(*this, loop_->now() + options_.close_timeout);
}

void WebSocketSession::abort() {
    if (connection_ != nullptr) connection_->close_now(CloseReason::kLocal);
}

void WebSocketSession::pause_reading() {
    if (connection_ != nullptr && is_open()) connection_->pause_reading();
}

void WebSocketSession::resume_reading() {
    if (connection_ != nullptr) connection_->resume_reading();
}

std::size_t WebSocketSession::on_bytes(Connection& connection, std::span<char> bytes) {
    last_heard_ = loop_->now();
    unanswered_pings_ = 0;
    std::span<char> in = bytes;
    while (connection_ != nullptr && state_ != State::kOver && !connection.paused()) {
        if (is_open() && connection.backed_up()) break;
        const WebSocketEvent event = decoder_.next(in);
        if (event.kind == WebSocketEvent::Kind::kNeedMore) break;
        if (event.kind == WebSocketEvent::Kind::kText ||
            event.kind == WebSocketEvent::Kind::kBinary || event.last)
            partial_since_ = {};
        handle(event, bytes);
    }
    if (!hold_partial()) drop(close_code::kPolicy, "too much of your messages is unfinished");
    return state_ == State::kOver ? bytes.size() : bytes.size() - in.size();
}

/// Puts what the decoder keeps of an unfinished message on its account; false when there is no room
/// for it.
bool WebSocketSession::hold_partial() {
    const std::size_t kept = decoder_.buffered_bytes();
    if (kept == 0) {
        partial_since_ = {};
    } else if (partial_since_ == SteadyTime{}) {
        partial_since_ = last_heard_;
    }
    partial_.shrink_to(kept);
    return state_ == State::kOver || partial_.grow_to(kept);
}

void WebSocketSession::handle(const WebSocketEvent& event, std::span<char> read) {
    switch (event.kind) {
        case WebSocketEvent::Kind::kNeedMore: return;
        case WebSocketEvent::Kind::kText:
            if (is_open()) handler_->on_text(*this, with_slack(event.payload, read));
            return;
        case WebSocketEvent::Kind::kBinary:
            if (is_open()) handler_->on_binary(*this, with_slack(event.payload, read));
            return;
        case WebSocketEvent::Kind::kPing: return send(Opcode::kPong, event.payload);
        case WebSocketEvent::Kind::kPong: return;
        case WebSocketEvent::Kind::kClose: return on_close_frame(event);
        case WebSocketEvent::Kind::kViolation: return drop(event.code, event.payload);
        case WebSocketEvent::Kind::kExcess:
            if (!is_open() || handler_->on_excess(*this, event.payload, event.last)) return;
            return drop(close_code::kTooBig, "the message is larger than the limit");
    }
}

// A message that came in one read lies in the read buffer, which has slack; one that was collected
// is copied to where slack is.
std::span<char> WebSocketSession::with_slack(std::string_view payload, std::span<char> read) {
    const std::less_equal<const char*> at_or_before;
    if (at_or_before(read.data(), payload.data()) &&
        at_or_before(payload.data() + payload.size(), read.data() + read.size())) {
        return {read.data() + (payload.data() - read.data()), payload.size()};
    }
    constexpr std::size_t kWorthKeeping = 256 * 1024;
    std::string& copy = collected();
    if (copy.capacity() > kWorthKeeping) std::string().swap(copy);
    copy.reserve(payload.size() + EventLoop::kSlack);
    copy.assign(payload);
    return copy;
}

void WebSocketSession::on_close_frame(const WebSocketEvent& event) {
    CloseInfo info{.code = event.code,
                   .reason = std::string(event.payload),
                   .clean = true,
                   .peer_initiated = true};
    if (state_ == State::kOpen) {
        append_close(connection_->out(), event.code, {}, next_mask());
    } else {
        info = {
            .code = close_code_, .reason = close_reason_, .clean = true, .peer_initiated = false};
    }
    connection_->close_after_flush();
    finish(std::move(info));
}

// Ends with a close frame of ours that waits for no answer.
void WebSocketSession::drop(std::uint16_t code, std::string_view reason) {
    if (state_ == State::kOver) return;
    if (state_ == State::kOpen) append_close(connection_->out(), code, reason, next_mask());
    connection_->close_after_flush();
    finish({.code = code, .reason = std::string(reason), .clean = false, .peer_initiated = false});
}

void WebSocketSession::finish(CloseInfo info) {
    state_ = State::kOver;
    disarm();
    partial_ = HeldBytes();
    if (std::exchange(finished_, true)) return;
    const auto handler = std::move(handler_);
    loop_->destroy_later(handler);
    handler->on_closed(*this, info);
}

void WebSocketSession::on_end_of_stream(Connection& connection) {
    if (finished_) return ConnectionHandler::on_end_of_stream(connection);
    connection.close_now(CloseReason::kPeerClosed);
}

void WebSocketSession::on_drained(Connection&) {
    if (is_open()) handler_->on_drained(*this);
}

bool WebSocketSession::on_slow_reader(Connection&) {
    if (state_ != State::kOpen) return false;
    drop(close_code::kPolicy, name_of(CloseReason::kSlowReader));
    return true;
}

void WebSocketSession::on_closed(Connection&, CloseReason reason) {
    const bool ours = state_ == State::kClosing;
    written_ = connection_ != nullptr ? connection_->bytes_written() : written_;
    connection_ = nullptr;
    if (ours) {
        finish({.code = close_code_,
                .reason = close_reason_,
                .clean = false,
                .peer_initiated = false});
    } else {
        finish({.code = kLinkBroken,
                .reason = std::string(name_of(reason)),
                .clean = false,
                .peer_initiated = false});
    }
    held_.reset();
}

void WebSocketSession::watch_liveness(SteadyTime from) {
    if (options_.ping_after > Milliseconds::zero())
        loop_->timers().arm(*this, from + options_.ping_after);
}

// Bytes that come do not touch the timer; it looks at them when it fires.
void WebSocketSession::on_expired() {
    if (state_ == State::kClosing) return connection_->close_now(CloseReason::kLocal);
    if (state_ != State::kOpen) return;
    const SteadyTime now = loop_->clock().steady_now();
    const bool reading = !connection_->waits_for_output() && !connection_->paused();
    if (!reading && partial_since_ != SteadyTime{}) partial_since_ = now;
    // nothing is read; the limit on stalling watches
    if (connection_->waits_for_output()) return watch_liveness(now);
    if (partial_since_ != SteadyTime{} &&
        now >= partial_since_ + kMessageTime +
                   std::chrono::seconds(decoder_.buffered_bytes() / kLeastBytesPerSecond)) {
        return drop(close_code::kPolicy, "a message does not come to its end");
    }
    if (now < last_heard_ + options_.ping_after) return watch_liveness(last_heard_);
    if (unanswered_pings_ >= options_.max_unanswered_pings) return drop(kNoPong, "no pong");
    unanswered_pings_ += 1;
    ping();
    watch_liveness(now);
}

}  // namespace crab::net
