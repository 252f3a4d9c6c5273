#pragma once

#include "adapters/mcp/server/session.hpp"
#include "adapters/mcp/wire/message_reader.hpp"
#include "net/codec/http_text.hpp"
#include "net/http/http_exchange.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// What `Accept` permits; absent and `*/*` permit both.
struct Accepted {
    bool json = true, events = true;
    static Accepted read(std::string_view accept);
};

/// The answer to one POST: JSON if all is there before any notification and soon enough, so that
/// errors keep their status; else server-sent events, which for a legacy session can be resumed.
/// Lives on the exchange's loop, in the frame of who serves it.
/// Source: docs/protocols/mcp.md, sections 2.3 and 2.4, "Form of the answer".
class PostAnswer final : private TimerNode {
public:
    struct Options {
        Accepted accepted;
        Milliseconds stream_after{500};
        Milliseconds keepalive{15'000};
        /// After this time the stream of a session is closed, to be resumed; 0: never
        Milliseconds poll_after{0};
        std::shared_ptr<Session> session;  ///< null: modern
        bool is_batch = false;
        /// HTTP+SSE: the POST was answered before, and this comes on the stream of the session
        bool elsewhere = false;
        std::string_view session_header{};  ///< to be set, for the answer to `initialize`
    };
    PostAnswer(net::HttpExchange& exchange, Options options);
    ~PostAnswer() override = default;

    /// Begins the events now; false when the client takes JSON only.
    bool stream_now();
    /// A notification about the request, or a request to the client; false, and dropped, when the
    /// client takes JSON only.
    bool notify(std::string_view message);
    /// Whether the responses of a batch are as large as one reply may be: the rest is refused.
    bool is_full() const { return responded_ >= kMaxReply; }
    /// The response to a request; `status` is that of a JSON answer.
    void respond(std::string message, int status = 200);
    /// All responses were given, or none follows: a request that was cancelled.
    void end();
    bool streams() const { return streams_; }
    /// The stream was closed here, and its client comes again for what follows.
    bool waits_for_polling() const { return left_; }
    bool takes_events() const { return options_.accepted.events; }

private:
    void on_expired() override;
    void send_event(std::string_view message);
    bool has_response() const { return !response_.empty() || !responses_.empty(); }
    void send_early();
    void write_taken();
    void arm();
    void leave();
    void end_as_json();

    net::HttpExchange& exchange_;
    const Options options_;
    std::shared_ptr<SessionStream> stream_;  // of a session
    SessionStream::ReaderId reader_ = 0;
    std::uint64_t written_ = 0;
    // kept while they may become JSON
    std::string response_;
    std::vector<std::string> responses_;  // of a batch
    std::size_t responded_ = 0;  // bytes of all of them
    int status_ = 200;
    bool streams_ = false;
    Deadline poll_at_ = kNoDeadline;
    bool left_ = false;  ///< the stream was closed here; what follows waits for who resumes it
};

using net::kJsonType;
inline constexpr std::string_view kEventsType = "text/event-stream";
/// Begins a stream of server-sent events; its head and a comment leave at once. `session_header` is
/// set unless it is empty.
void start_events(net::HttpExchange& exchange, std::string_view session_header = {});

}  // namespace crab::mcp
