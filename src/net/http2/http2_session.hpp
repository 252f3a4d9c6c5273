#pragma once

#include "net/http2/http2_stream.hpp"
#include "net/tls/connection.hpp"
#include "net/tls/connection_slots.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

struct nghttp2_session;

namespace crab::net {

/// Limits of one HTTP/2 connection.
struct Http2Limits {
    std::size_t header_list_bytes = 16 * 1024;   ///< beyond: the stream is reset
    std::uint32_t concurrent_streams = 512;      ///< advertised, and refused beyond
    std::uint32_t stream_window = 256 * 1024;    ///< bytes of a body that are not consumed yet
    std::uint32_t connection_window = 1024 * 1024;
    /// Of bodies, received and not consumed; beyond: the stream is reset
    std::size_t held_bytes = std::size_t{32} << 20;
    /// Handed to the connection and not taken by the kernel
    std::size_t queued_bytes = 256 * 1024;
    /// PING, SETTINGS, PRIORITY, empty DATA at once; beyond: ENHANCE_YOUR_CALM (nghttp2 itself
    /// drops the link at 1 000)
    std::uint32_t control_burst = 500;
    std::uint32_t control_per_second = 100;
    Milliseconds first_request{10'000};          ///< of a new connection that asks nothing
    Milliseconds head{10'000};                   ///< from the first frame of a head to its last
    Milliseconds idle{300'000};                  ///< without a stream
};

/// HTTP/2 on one connection (RFC 9113), either side of it; plain connections begin with prior
/// knowledge, TLS with ALPN `h2`. Output of all streams is framed at the end of an iteration and
/// written at once.
class Http2Session final : public ConnectionHandler,
                           public Pollable,
                           private TimerNode,
                           public std::enable_shared_from_this<Http2Session> {
public:
    /// Events for a server; called on the loop, outside of nghttp2.
    struct Events {
        /// A request's head is here, its body perhaps not
        std::function<void(const std::shared_ptr<Http2Stream>&)> on_stream;
        std::function<void(Http2Session&)> on_open;
        std::function<void(Http2Session&)> on_closed;  ///< nothing comes after it
    };
    enum class Role : std::uint8_t { kServer, kClient };

    /// `limits` must outlive the session.
    Http2Session(EventLoop& loop, Role role, const Http2Limits& limits, Events events);
    ~Http2Session() override;

    /// Keeps a server's slot until the connection closes.
    void hold(std::shared_ptr<ConnectionSlots::Slot> slot) { slot_ = std::move(slot); }
    /// Marks the connection's owner as authenticated; false: too many of theirs are at work.
    bool prove_caller(std::string_view principal) { return !slot_ || slot_->prove(principal); }
    /// What a server's caller is sent and does not take is charged to it; null: not limited.
    std::shared_ptr<ByteBudget> output_budget() const {
        return slot_ ? slot_->output_budget() : nullptr;
    }
    /// A client's request; null when the connection is gone or takes no more. With `Last::kNo` its
    /// body follows.
    std::shared_ptr<Http2Stream> open(std::span<const HttpHeader> fields, Http2Stream::Last last);
    /// Takes no more streams: GOAWAY; the connection ends with the last stream there is.
    void finish();
    /// Cancels whoever serves a stream that has no end yet; they may still answer.
    void cancel_streams();
    /// Closes now with GOAWAY: drops unsent output and cancels the streams' coroutines.
    void stop();
    bool is_open() const { return connection_ != nullptr; }
    const std::shared_ptr<Http2Account>& account() const { return account_; }
    bool accepts_streams() const;
    std::size_t streams() const { return streams_.size(); }
    Connection* connection() const { return connection_; }

    void on_open(Connection& connection) override;
    std::size_t on_bytes(Connection& connection, std::span<char> bytes) override;
    void on_end_of_stream(Connection& connection) override;
    void on_drained(Connection& connection) override;
    void on_closed(Connection& connection, CloseReason reason) override;
    void on_ready(std::uint32_t) override {}
    void on_iteration_end() override;

private:
    friend class Http2Stream;
    friend struct Http2Callbacks;
    void want_write();
    void note_ready(Http2Stream& stream);
    void run_ready();
    void begin(const std::shared_ptr<Http2Stream>& stream);
    void add(std::shared_ptr<Http2Stream> stream);
    void head_ended();
    void forget(Http2Stream& stream, Http2Error code);
    bool spend_control();
    void set_deadline(Milliseconds in);
    void on_expired() override;

    EventLoop& loop_;
    const Http2Limits& limits_;
    Events events_;
    nghttp2_session* session_ = nullptr;
    Connection* connection_ = nullptr;
    std::unordered_map<std::int32_t, std::shared_ptr<Http2Stream>> streams_;
    std::vector<std::shared_ptr<Http2Stream>> ready_;
    std::shared_ptr<ConnectionSlots::Slot> slot_;
    std::shared_ptr<Http2Account> account_;
    double control_left_;
    SteadyTime control_at_;
    Role role_;
    bool running_ready_ = false;
    bool finishing_ = false;
    bool in_head_ = false;  // a request's, of which the end has not come
};

}  // namespace crab::net
