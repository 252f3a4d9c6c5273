#pragma once

#include "base/byte_budget.hpp"
#include "base/task/timer_wheel.hpp"
#include "net/codec/websocket.hpp"
#include "net/tls/connection.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace crab::net {

class WebSocketSession;

/// How a WebSocket ended.
struct CloseInfo {
    /// The peer's, or ours when we closed; 1005 when it sent none, 1006 when the link broke
    std::uint16_t code = 1006;
    std::string reason;
    bool clean = false;           ///< both close frames were seen
    bool peer_initiated = false;  ///< the peer's close frame came before ours
};

/// Callbacks of a WebSocket. Called on the loop's thread; may send from any callback.
class WebSocketHandler {
public:
    virtual ~WebSocketHandler() = default;
    /// The handshake is done; the session may be used and kept (shared_from_this) until
    /// on_closed().
    virtual void on_open(WebSocketSession&) {}
    /// A text message, valid UTF-8; valid during the call, may be overwritten, EventLoop::kSlack
    /// readable bytes behind it.
    virtual void on_text(WebSocketSession& session, std::span<char> text) = 0;
    virtual void on_binary(WebSocketSession&, std::span<char>) {}
    /// A piece of a message that is larger than the limit, from its first to its last; of a
    /// compressed one only the beginning. True: the rest may come, and the link goes on; false: it
    /// is closed with 1009.
    virtual bool on_excess(WebSocketSession&, std::string_view piece, bool last) {
        static_cast<void>(piece), static_cast<void>(last);
        return false;
    }
    /// All output has been handed to the kernel.
    virtual void on_drained(WebSocketSession&) {}
    /// The session has ended; called exactly once; sending has no effect from now on. After a slow
    /// reader, a silent peer or broken framing it is called immediately, possibly before the close
    /// frame is sent.
    virtual void on_closed(WebSocketSession& session, const CloseInfo& info) = 0;
};

struct WebSocketOptions {
    WebSocketDecoder::Role role = WebSocketDecoder::Role::kServer;
    std::size_t max_message_bytes = 8 * 1024 * 1024;
    /// For incomplete messages, and for what the other side does not take; null: not limited
    std::shared_ptr<ByteBudget> budget;
    Milliseconds ping_after{20'000};  ///< of silence; zero: never
    /// Then, after one more `ping_after`, the link is dropped with 4408
    int max_unanswered_pings = 2;
    Milliseconds close_timeout{5'000};  ///< from our close frame to the peer's
    bool deflate = false;  ///< was negotiated
    int deflate_window_bits = 15;
    std::size_t deflate_above = 1024;  ///< bytes; smaller messages go uncompressed
};

/// One WebSocket over a connection: frames in and out, pings, the closing handshake. Either side.
class WebSocketSession final : public ConnectionHandler,
                               private TimerNode,
                               public std::enable_shared_from_this<WebSocketSession> {
public:
    WebSocketSession(const WebSocketOptions& options, std::shared_ptr<WebSocketHandler> handler);
    ~WebSocketSession() override;
    /// Takes over `connection` after the handshake; calls on_open().
    void attach(Connection& connection);

    /// Keeps `object` until the link is gone.
    void hold(std::shared_ptr<void> object) { held_ = std::move(object); }

    bool is_open() const { return state_ == State::kOpen; }
    /// A text message, written straight into the outgoing queue: append to what begin_text()
    /// returns, then end_text(); nothing else may be sent or awaited in between.
    std::string& begin_text();
    void end_text();
    void send_text(std::string_view text);
    void ping(std::string_view payload = {});
    /// Starts the closing handshake; on_closed() follows within `close_timeout`. 1000 for a good
    /// end; at most 123 bytes of reason.
    void close(std::uint16_t code, std::string_view reason);
    /// Closes the connection without a close frame; on_closed() is called before this returns.
    void abort();

    /// When bytes last came.
    SteadyTime last_heard() const { return last_heard_; }
    /// Bytes of this connection that the kernel has taken; holds after the end too.
    std::uint64_t bytes_written() const {
        return connection_ != nullptr ? connection_->bytes_written() : written_;
    }
    std::size_t queued_bytes() const {
        return connection_ != nullptr ? connection_->queued_bytes() : 0;
    }
    void pause_reading();
    void resume_reading();
    EventLoop& loop() const { return *loop_; }
    /// Null once the link is gone.
    Connection* connection() const { return connection_; }
    const PeerAddress& peer() const { return peer_; }

    std::size_t on_bytes(Connection& connection, std::span<char> bytes) override;
    void on_end_of_stream(Connection& connection) override;
    void on_drained(Connection& connection) override;
    bool on_slow_reader(Connection& connection) override;
    void on_closed(Connection& connection, CloseReason reason) override;

private:
    enum class State : std::uint8_t { kOpen, kClosing, kOver };
    void handle(const WebSocketEvent& event, std::span<char> read);
    std::span<char> with_slack(std::string_view payload, std::span<char> read);
    void on_close_frame(const WebSocketEvent& event);
    void drop(std::uint16_t code, std::string_view reason);
    void finish(CloseInfo info);
    void send(Opcode opcode, std::string_view payload);
    Mask next_mask() const;
    bool hold_partial();
    void watch_liveness(SteadyTime from);
    void on_expired() override;

    WebSocketDecoder decoder_;
    std::shared_ptr<WebSocketHandler> handler_;
    EventLoop* loop_ = nullptr;
    Connection* connection_ = nullptr;
    WebSocketOptions options_;
    SteadyTime last_heard_{};
    std::uint64_t written_ = 0;  // once the connection is gone
    std::string close_reason_;
    std::shared_ptr<void> held_;
    OpenFrame open_frame_{};
    PeerAddress peer_;
    HeldBytes partial_;  // of a message that is not whole
    SteadyTime partial_since_{};
    std::uint16_t close_code_ = 0;  // ours, once sent
    int unanswered_pings_ = 0;
    State state_ = State::kOver;  // until attach()
    bool finished_ = false;  // on_closed() was called
    bool writing_ = false;  // between begin_text() and end_text()
};

}  // namespace crab::net
