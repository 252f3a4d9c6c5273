#pragma once

#include "base/byte_budget.hpp"
#include "base/task/task.hpp"
#include "base/task/waiter.hpp"
#include "net/codec/http_write.hpp"
#include "net/http2/http2_fields.hpp"
#include "net/loop/event_loop.hpp"
#include "net/loop/peer_address.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace crab::net {

class Http2Session;

/// Accounts for buffered request bodies of one connection: unconsumed bytes and messages being
/// processed. Beyond a fixed allowance they are charged to a budget, in large steps.
class Http2Account {
public:
    explicit Http2Account(std::size_t most) : most_(most) {}
    /// False when that is too much; then nothing was added.
    bool add(std::size_t bytes);
    void remove(std::size_t bytes);
    void charge(std::shared_ptr<ByteBudget> budget);
    bool has_budget() const { return held_.has_budget(); }
    std::size_t bytes() const { return bytes_; }

private:
    const std::size_t most_;
    std::size_t bytes_ = 0;
    HeldBytes held_;
};

/// RFC 9113 section 7, as far as we say or look at them.
enum class Http2Error : std::uint32_t {
    kNoError = 0,
    kProtocol = 1,
    kInternal = 2,
    kRefused = 7,
    kCancel = 8,
    kEnhanceYourCalm = 11
};

/// One request and its answer on an HTTP/2 connection, seen from either side: what comes in
/// (fields, body, trailers) and what goes out. Used on its connection's loop, by one coroutine at a
/// time. After it is closed, sending has no effect.
class Http2Stream final : public std::enable_shared_from_this<Http2Stream> {
public:
    Http2Stream(Http2Session& session, EventLoop& loop);
    Http2Stream(const Http2Stream&) = delete;
    Http2Stream& operator=(const Http2Stream&) = delete;
    ~Http2Stream();

    EventLoop& loop() const { return loop_; }
    const PeerAddress& peer() const { return peer_; }
    /// The certificate that the other side showed; empty when it showed none, and when the
    /// connection is gone.
    std::string peer_certificate_der() const;
    /// What the other side opened with: the request, or for a client the answer's head, which may
    /// not be there yet.
    const Http2Fields& fields() const { return fields_; }
    const Http2Fields& trailers() const { return trailers_; }

    /// Marks the caller as authenticated: when there are too many connections, its own is evicted
    /// only without streams, and only if nobody with such a one has more of them. False: too many
    /// of the caller's have streams; refuse this one.
    [[nodiscard]] bool prove_caller(std::string_view principal);
    /// The budget for bytes buffered by its connection: that of the first authenticated caller.
    bool has_budget() const { return account_->has_budget(); }
    void charge(std::shared_ptr<ByteBudget> budget) { account_->charge(std::move(budget)); }
    /// Counts bytes that were made of this stream's, until it ends. False when they are too many.
    bool hold(std::size_t bytes);
    void release(std::size_t bytes) {
        held_ -= bytes;
        account_->remove(bytes);
    }

    /// What has come of the body and was not consumed; holds until the next wait or consume().
    std::string_view body() const { return std::string_view(body_).substr(taken_); }
    void consume(std::size_t bytes);
    /// body(), owned by the caller from now on.
    std::string take_body();
    /// The other side has sent all it will.
    bool ended() const { return ended_; }
    /// Reset by either side, or its connection is gone, before both sides had ended.
    bool gone() const { return gone_; }
    /// Of a stream that is gone: why, if the other side said so.
    Http2Error reset_code() const { return reset_code_; }
    /// Lets the other side send another window and waits until something has come, it has ended, or
    /// it is gone.
    [[nodiscard]] Waiter::Wait more(Deadline deadline);

    /// The head of an answer, once (requests: Http2Session::open()). `Last::kYes`: nothing follows.
    enum class Last : std::uint8_t { kNo, kYes };
    void send_head(std::span<const HttpHeader> fields, Last last);
    /// Body to be sent: append, then flush(). It goes as fast as the other side's windows let it;
    /// what waits is charged to the caller, and the stream reset when that is too much.
    std::string& out() { return out_; }
    void flush();
    /// Bytes that were appended and not framed yet.
    std::size_t queued_bytes() const { return out_.size() - framed_; }
    /// Waits until less than `most` bytes are queued, or it is gone.
    Task<WaitEnd> drained(std::size_t most, Deadline deadline);
    /// The body is complete; `trailers` follow it.
    void end(std::span<const HttpHeader> trailers = {});
    /// Ends it at once, both ways.
    void reset(Http2Error code);
    bool answered() const { return head_sent_; }
    bool finished() const { return out_ended_; }

    /// What cancels the coroutine that serves this stream; it is emitted when the stream is gone.
    CancelSignal& canceller() { return cancel_; }
    /// Called when the stream is closed: if it returns true nothing is cancelled, and its owner
    /// must cancel later. Empty: never.
    void goes_on_when_gone(std::function<bool()> question) { goes_on_ = std::move(question); }

private:
    friend class Http2Session;
    friend struct Http2Callbacks;
    void wake();
    bool hold_output();

    Http2Session* session_;  // null once it is closed
    EventLoop& loop_;
    PeerAddress peer_;
    std::int32_t id_ = -1;
    Http2Fields fields_, trailers_;
    std::string body_;  // [taken_, size)
    std::size_t taken_ = 0;
    std::shared_ptr<Http2Account> account_;
    // of the account: body_ from taken_ on, and what was taken or made of it
    std::size_t held_ = 0;
    std::size_t unreleased_ = 0;  // received, and not given back to the other side's window
    std::string out_;  // [framed_, size)
    std::size_t framed_ = 0;
    HeldBytes untaken_;  // of out_
    std::vector<std::pair<std::string, std::string>> out_trailers_;
    Waiter changed_;
    CancelSignal cancel_;
    std::function<bool()> goes_on_;
    Http2Error reset_code_ = Http2Error::kNoError;
    bool announced_ = false;  // to whoever serves it
    bool ready_ = false;  // is in the session's list
    bool ended_ = false;
    bool gone_ = false;
    bool head_sent_ = false;
    bool out_ended_ = false;
    bool too_much_ = false;  // came of its body; the rest is thrown away
    bool deferred_ = false;  // nghttp2 asked for body when there was none
};

}  // namespace crab::net
