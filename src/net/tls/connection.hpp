#pragma once

#include "base/byte_budget.hpp"
#include "base/task/timer_wheel.hpp"
#include "net/loop/event_loop.hpp"
#include "net/loop/peer_address.hpp"
#include "net/tls/tls_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::net {

class Connection;
class TlsContext;
struct SocketAddress;

/// Why a connection is gone.
enum class CloseReason : std::uint8_t {
    kPeerClosed,     ///< the other side ended its stream cleanly
    kReset,          ///< the connection broke
    kLocal,          ///< this side closed it
    kSlowReader,  ///< the other side read nothing for too long, or too much was queued
    kTimeout,  ///< connecting or the TLS handshake took too long
    kConnectFailed,  ///< refused, unreachable
    kTlsFailed,  ///< the handshake failed or the TLS stream is broken
    kShutdown,  ///< the loop or the server ends
};
std::string_view name_of(CloseReason reason);

/// What reads from and reacts to a connection; owned by it. Called on the loop's thread.
class ConnectionHandler {
public:
    virtual ~ConnectionHandler() = default;

    /// The connection and its TLS handshake are complete.
    virtual void on_open(Connection&) {}
    /// Bytes that have arrived, those left over from last time first; they may be overwritten, and
    /// EventLoop::kSlack bytes behind them are readable. Returns how many were consumed; the
    /// connection keeps the rest and offers it again with the next bytes, or on offer_again().
    virtual std::size_t on_bytes(Connection& connection, std::span<char> bytes) = 0;
    /// The other side will send no more; what was offered and not consumed stays so. By default the
    /// connection is closed once its output has been written.
    virtual void on_end_of_stream(Connection& connection);
    /// All output has been handed to the kernel.
    virtual void on_drained(Connection&) {}
    /// The link broke while output was written. True: what had arrived until then is read before
    /// the connection closes.
    virtual bool wants_what_arrived() const { return false; }
    /// The other side reads too slowly. True: the handler has sent a last message and called
    /// close_after_flush(); false: the connection closes immediately.
    virtual bool on_slow_reader(Connection&) { return false; }
    /// The connection is closed; called exactly once, as the last callback.
    virtual void on_closed(Connection& connection, CloseReason reason) = 0;
};

struct ConnectionLimits {
    /// Of output that the kernel did not take; then one more message
    std::size_t max_queued_bytes = 8 * 1024 * 1024 + 64 * 1024;
    std::size_t read_per_iteration = 256 * 1024;  ///< then other connections are served
    Milliseconds stall{10'000};  ///< without a byte taken while output waits
    Milliseconds handshake{10'000};  ///< connecting and TLS, each
    Milliseconds linger{2'000};  ///< between our last byte and the other side's end of stream

    /// Queued bytes above which nothing more is taken from the other side.
    std::size_t low_water() const {
        return std::min<std::size_t>(256 * 1024, max_queued_bytes / 4);
    }
};

/// A stream of bytes over TCP or a Unix socket, with or without TLS. It keeps itself alive until it
/// is closed, lives on one loop, and owns no memory for reading or writing while nothing is in
/// progress.
class Connection final : public Pollable,
                         private TimerNode,
                         public std::enable_shared_from_this<Connection> {
    struct Private {};

public:
    /// Takes over a connected socket that was accepted; `tls` null for a plain one. `limits` must
    /// outlive the connection.
    static std::shared_ptr<Connection> accepted(EventLoop& loop, int fd, TlsContext* tls,
                                                const ConnectionLimits& limits,
                                                std::shared_ptr<ConnectionHandler> handler);
    /// Starts to connect; on_open() or on_closed() follows, never before this returns.
    static std::shared_ptr<Connection> dial(EventLoop& loop, const SocketAddress& address,
                                            TlsContext* tls, const std::string& server_name,
                                            const ConnectionLimits& limits,
                                            std::shared_ptr<ConnectionHandler> handler);

    Connection(Private, EventLoop& loop, int fd, const ConnectionLimits& limits,
               std::shared_ptr<ConnectionHandler> handler);
    ~Connection() override;

    EventLoop& loop() const { return loop_; }
    bool is_open() const { return state_ == State::kOpen; }
    /// Not open yet, and not closed.
    bool is_handshaking() const {
        return state_ == State::kConnecting || state_ == State::kHandshaking;
    }

    /// The outgoing queue: append, then mark_dirty(). Written at the end of the iteration.
    /// Discarded after close.
    std::string& out();
    void mark_dirty() { loop_.mark_dirty(*this); }
    /// Bytes that the kernel has not taken yet.
    std::size_t queued_bytes() const { return out_.size() - sent_; }
    /// Asked before a message is queued. At most max_queued_bytes may wait then, if need be after
    /// an attempt to write them now. False: the message must be left out, and the end of the
    /// iteration finds the other side a slow reader.
    bool make_room();
    /// Asked in on_bytes() before something is taken that will be answered. True: more than
    /// low_water() is queued, so leave the bytes; nothing is read until the queue is shorter, then
    /// they are offered again.
    bool backed_up();
    /// backed_up() has stopped reading.
    bool waits_for_output() const { return backed_up_; }
    /// What it holds for output that the kernel does not take, beyond kFreeOutput, comes from
    /// `budget` from now on; where that is exhausted the other side is a slow reader. Null: free.
    void charge_output(std::shared_ptr<ByteBudget> budget);
    static constexpr std::size_t kFreeOutput = 16 * 1024;
    /// Bytes that the kernel has taken since the connection was made.
    std::uint64_t bytes_written() const { return written_; }

    void pause_reading() { paused_ = true; }
    /// Takes up reading where it stopped, in a later iteration.
    void resume_reading();
    bool paused() const { return paused_; }
    /// Offers what is kept again in a later iteration, so that others are served in between; reads
    /// nothing until then.
    void offer_later();
    /// The same, if anything is kept; does nothing when called from on_bytes().
    void offer_again();

    /// Writes what is queued, ends our half of the stream, waits a little for the other half and
    /// closes.
    void close_after_flush();
    /// Closes now; on_closed() is called before this returns, once.
    void close_now(CloseReason reason);

    /// Replaces the handler, as an upgrade does; the old one lives until the iteration ends and
    /// gets no more callbacks.
    void set_handler(std::shared_ptr<ConnectionHandler> handler);
    const std::shared_ptr<ConnectionHandler>& handler() const { return handler_; }

    const PeerAddress& peer() const { return peer_; }
    bool is_tls() const { return tls_ != nullptr; }
    /// The port on this side; 0 of a Unix socket.
    std::uint16_t local_port() const;
    /// The certificate the other side showed, DER; empty when none.
    std::string peer_certificate_der() const;
    /// The handshake failed because one side refuses the other: its certificate or version of TLS.
    bool tls_refused() const { return tls_ && tls_->refused(); }
    /// The error text of a failed connect or handshake, for logs.
    const std::string& failure() const { return failure_; }
    int fd() const { return fd_; }

    void on_ready(std::uint32_t events) override;
    void on_iteration_end() override;
    void on_loop_end() override { close_now(CloseReason::kShutdown); }

private:
    enum class State : std::uint8_t { kConnecting, kHandshaking, kOpen, kLingering, kClosed };
    void begin_tls(TlsContext& tls, const std::string& server_name);
    void finish_connect();
    void continue_handshake();
    void become_open();
    void read_some();
    Transfer read_into(std::span<char> space);
    Transfer write_from(std::string_view bytes);
    void offer(std::span<char> bytes, bool kept);
    void offer_kept();
    Transfer::Outcome push();
    void write_some();
    bool hold_output();
    void broken_write();
    void wait_for_write();
    void begin_linger();
    void discard_input();
    void slow_reader();
    void on_expired() override;

    EventLoop& loop_;
    const ConnectionLimits& limits_;
    std::shared_ptr<Connection> self_;  // while open
    std::shared_ptr<ConnectionHandler> handler_;
    std::string kept_;  // offered and not consumed
    std::string out_;  // [sent_, size) still to be written
    std::size_t sent_ = 0;
    std::uint64_t written_ = 0;
    HeldBytes untaken_;  // of output
    SteadyTime progress_{};  // when the kernel last took bytes after it had refused some
    std::string failure_;  // of connect or TLS
    std::unique_ptr<TlsStream> tls_;
    PeerAddress peer_;
    int fd_;
    int connect_error_ = 0;
    State state_ = State::kConnecting;
    bool watching_writes_ = false;  // EPOLLOUT is asked for; only once the kernel has refused bytes
    bool write_blocked_ = false;
    bool read_wants_write_ = false;  // TLS has to write before it can read on
    bool paused_ = false;
    // the kernel has told of the end of the stream, so reading must go on until it is seen
    bool hangup_ = false;
    bool ended_ = false;  // end of stream was read
    bool closing_ = false;  // close_after_flush() was called
    bool offering_ = false;
    bool offer_wanted_ = false;  // resume_reading() was called; what was kept comes first
    bool backed_up_ = false;  // reading waits until output is taken
    bool overflowed_ = false;  // a message was left out
    bool slow_ = false;
};

}  // namespace crab::net
