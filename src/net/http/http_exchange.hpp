#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"
#include "base/task/waiter.hpp"
#include "base/task/wakeup.hpp"
#include "net/http/date_field.hpp"
#include "net/http/http_request.hpp"
#include "net/loop/event_loop.hpp"
#include "net/tls/connection_slots.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::net {

/// One request and the answer to it. Lives on its connection's loop; answers exactly once:
/// respond(), or begin_response() and finish_response(), or start_stream() … end_stream(). Once the
/// caller has disconnected these have no effect.
class HttpExchange {
public:
    const HttpRequest& request() const { return request_; }
    EventLoop& loop() const { return loop_; }
    /// Of the answer that was begun; 0: none was.
    int status() const { return status_; }
    /// The other side closed its connection or its half of it; serve() is being cancelled, unless
    /// it asked not to be.
    bool caller_gone() const { return caller_gone_; }
    /// From now on serve() continues when the caller disconnects; its answer is then dropped,
    /// unless the caller has only closed its half. A stopping server still cancels it.
    void keep_running_when_caller_leaves() { keeps_running_ = true; }
    /// The same conditionally: `question` is called when the caller disconnects; if it returns
    /// true, serve() is not cancelled and its owner must cancel it later. Empty: never.
    void goes_on_when_caller_leaves(std::function<bool()> question) {
        goes_on_ = std::move(question);
    }

    /// Marks the caller as authenticated: when there are too many connections, its own is evicted
    /// only while idle, and only if nobody with an idle one has more of them. False: too many of
    /// the caller's are at work; refuse with 429.
    [[nodiscard]] bool prove_caller(std::string_view principal) {
        return slot_ == nullptr || slot_->prove(principal);
    }

    /// Cancels serve() while the caller is still connected.
    CancelSignal& canceller() { return *canceller_; }

    /// The next piece of a body that the service streams, never empty until its end, which is an
    /// empty piece. At most kBodyWindow and one read are buffered; then reading stops, and the
    /// caller's timeout is suspended. Answering before the end closes the connection afterwards.
    /// Errors: kOversize, kInvalidArgs (broken chunks), kTimeout (the caller is silent or too
    /// slow), kCancelled.
    Task<Result<std::string>> read_body();
    static constexpr std::size_t kBodyWindow = 128 * 1024;
    /// Minimum average rate of a body once the allowed silence is used up.
    static constexpr std::size_t kLeastBytesPerSecond = 1024;

    /// Lets pages of `origin`, which is the request's own and was found good, read the answer. No
    /// credential that browsers add by themselves goes with it.
    void share_with(std::string_view origin) { shared_origin_ = origin; }
    bool shared() const { return !shared_origin_.empty(); }

    /// The whole answer. For HEAD only its head is sent. `content_type` may be empty when `body`
    /// is.
    void respond(int status, std::string_view content_type, std::string_view body,
                 std::span<const HttpHeader> extra = {});
    void respond(int status, std::string_view content_type, std::string_view body,
                 std::initializer_list<HttpHeader> extra) {
        respond(status, content_type, body, std::span(extra.begin(), extra.size()));
    }
    /// `{"error":message,"code":code}`.
    void respond_error(int status, std::string_view code, std::string_view message,
                       std::span<const HttpHeader> extra = {});
    void respond_error(int status, std::string_view code, std::string_view message,
                       std::initializer_list<HttpHeader> extra) {
        respond_error(status, code, message, std::span(extra.begin(), extra.size()));
    }

    /// The same with the error's status (spec/errors.json).
    void respond_error(const Error& error);

    /// The hot path: append the body to what this returns, straight into the connection's outgoing
    /// queue, then finish_response(); nothing may be awaited in between. Instead of
    /// finish_response(), respond() drops what was begun.
    std::string& begin_response(int status, std::string_view content_type,
                                std::span<const HttpHeader> extra = {});
    std::string& begin_response(int status, std::string_view content_type,
                                std::initializer_list<HttpHeader> extra) {
        return begin_response(status, content_type, std::span(extra.begin(), extra.size()));
    }
    void finish_response();

    /// A body of unknown length, in chunks (until close for HTTP/1.0): SSE, downloads.
    void start_stream(int status, std::string_view content_type,
                      std::span<const HttpHeader> extra = {});
    void start_stream(int status, std::string_view content_type,
                      std::initializer_list<HttpHeader> extra) {
        start_stream(status, content_type, std::span(extra.begin(), extra.size()));
    }
    /// A body of that many bytes, in pieces; sending fewer closes the connection.
    void start_sized_stream(int status, std::string_view content_type, std::uint64_t length,
                            std::span<const HttpHeader> extra = {});
    void write_chunk(std::string_view bytes);
    /// Waits until less than 64 KiB are queued.
    Task<void> drained();
    void end_stream();

    /// The connection is closed after this answer.
    void close_when_done() { keep_alive_ = false; }

private:
    friend class HttpSession;
    enum class State : std::uint8_t { kOpen, kBody, kStream, kDone };
    /// A request's body on its way to serve().
    struct Incoming {
        std::string bytes;
        std::optional<Error> error;
        Waiter* reader = nullptr;  // waits in read_body()
        Milliseconds patience{0};
        std::size_t received = 0;
        std::chrono::nanoseconds waited{0};  // for the caller, in all
        bool ended = true;
        bool continue_wanted = false;  // the caller waits for a 100
    };
    explicit HttpExchange(EventLoop& loop) : loop_(loop) {}
    std::string& begin_head(int status, std::string_view content_type,
                            std::span<const HttpHeader> extra);
    void append_sharing();
    bool may_answer();
    std::string& out();
    void drop_response();  // begun and not finished
    void done();
    bool wants_body() const { return incoming_.bytes.size() < kBodyWindow; }
    void take_body(std::string_view piece) {
        incoming_.bytes += piece;
        incoming_.received += piece.size();
    }
    Deadline body_due() const;
    /// The caller has left: whether serve() goes on.
    bool goes_on() const { return keeps_running_ || (goes_on_ && goes_on_()); }
    void wake_reader();

    EventLoop& loop_;
    CancelSignal* canceller_ = nullptr;
    ConnectionSlots::Slot* slot_ = nullptr;
    DateField* date_ = nullptr;
    HttpRequest request_;
    std::string buffer_;  // head and body; all views of request_ point into it
    std::string nowhere_;
    Wakeup drained_;
    Incoming incoming_;
    std::function<bool()> goes_on_;
    std::optional<std::uint64_t> stream_left_;  // of a sized stream
    std::string_view shared_origin_;  // of the request; empty: only its own pages read the answer
    int status_ = 0;  // of the answer that was begun last
    std::size_t start_at_ = 0;  // in the outgoing queue
    std::size_t length_at_ = 0;  // where the length goes
    std::size_t body_at_ = 0;
    State state_ = State::kOpen;
    bool caller_gone_ = false;
    bool keeps_running_ = false;
    bool keep_alive_ = true;
    bool head_only_ = false;
    bool chunked_ = false;
};

}  // namespace crab::net
