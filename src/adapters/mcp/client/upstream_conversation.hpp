#pragma once

#include "adapters/mcp/client/upstream_exchange.hpp"
#include "adapters/mcp/client/upstream_question.hpp"
#include "adapters/mcp/client/upstream_transport.hpp"
#include "adapters/mcp/wire/message_reader.hpp"
#include "base/task/wakeup.hpp"
#include "json/parser.hpp"
#include "net/loop/event_loop.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// How a single request ended, beside its reply or failure.
struct ExchangeEnd {
    Result<UpstreamReply> reply;
    bool may_have_run = false;  ///< of a failure
    int http_status = 0;        ///< of the answer; 0 on stdio, and when none came
};

/// Single requests to one upstream over one transport, and what the upstream says of itself:
/// matches replies by id, hands progress and log to the sink that asked, an upstream's own requests
/// to the inquirer they belong to, other notifications to the listener. It knows ids and eras; it
/// knows no rounds and no tasks. Used on one event loop; close() before destruction.
class UpstreamConversation final : public TransportReader {
public:
    struct Options {
        std::string source;
        Ask ask;
        /// What no request carries may still ask, while just one request runs: the session is that
        /// of one caller (section 4.8, "Attribution")
        bool interactive = false;
        std::size_t max_message = kMaxReply;
        std::shared_ptr<std::atomic<std::uint64_t>> dropped{};  ///< as in UpstreamOptions
    };
    /// Writes the params of the request with that id.
    using WriteParams = std::function<std::string(std::int64_t id)>;
    struct Request {
        std::string method;
        WriteParams params;
        HeaderLines headers;
        Deadline deadline = kNoDeadline;
        core::FrameSink* sink = nullptr;
        core::Inquirer* inquirer = nullptr;
    };

    UpstreamConversation(net::EventLoop& loop, std::unique_ptr<UpstreamTransport> transport,
                         Options options);

    Task<Result<void>> start(Deadline deadline) { return transport_->start(deadline); }
    /// One request to its reply. Cancelled, or out of time, it is cancelled upstream.
    Task<ExchangeEnd> run(Request request);
    void notify(std::string_view method, std::string_view params);
    /// What the opening has found; a legacy one ends with `notifications/initialized`.
    Task<void> opened(Revision revision, Deadline deadline);
    Revision revision() const { return revision_; }

    void set_listener(UpstreamListener* listener) { listener_ = listener; }
    bool is_open() const { return !end_ && !closed_; }
    /// Since when no request has run; nothing while one does.
    std::optional<SteadyTime> quiet_since() const {
        return running_.empty() ? std::optional(last_end_) : std::nullopt;
    }
    /// Why it is not open any more, once the upstream ended it.
    const std::optional<Error>& ended_with() const { return end_; }
    std::string error_tail() const { return transport_->error_tail(); }
    net::EventLoop& loop() const { return loop_; }
    const Options& options() const { return options_; }
    /// The session is of no further use, as an answer has shown; its listener is told.
    void end(const Error& why) { on_end(why); }
    /// Once, whatever becomes of the coroutine that awaits it. Requests under way end.
    Task<void> close();

private:
    bool on_message(std::string_view text, UpstreamExchange* carrier) override;
    void on_end(const Error& why) override;
    /// False for what is no message.
    bool take(MessageReading reading, UpstreamExchange* carrier);
    void on_response(Message& message, UpstreamExchange* carrier);
    void on_notification(const Message& message, UpstreamExchange* carrier);
    void on_progress(std::string_view params);
    bool on_log(std::string_view params, UpstreamExchange* carrier);
    void on_request(const Message& message, UpstreamExchange* carrier);
    void drop(std::string_view why, const Message& message);
    void cancel_upstream(const UpstreamExchange& exchange, std::string_view reason);
    ExchangeEnd end_of(UpstreamExchange& exchange, bool cancelled);
    UpstreamExchange* find(const RequestId& id) const;
    bool any_running() const;
    UpstreamExchange* only_one_running() const;
    Task<void> answer(UpstreamExchange& owner, RequestId id, core::Question question);
    Task<void> close_all();

    net::EventLoop& loop_;
    const Options options_;
    std::unique_ptr<UpstreamTransport> transport_;
    json::Parser parser_;
    std::int64_t last_id_ = 0;
    std::map<std::int64_t, UpstreamExchange*> running_;
    SteadyTime last_end_;  ///< of a request
    UpstreamListener* listener_ = nullptr;
    Revision revision_ = Revision::k2026_07_28;
    bool is_opened_ = false;
    bool closed_ = false;
    std::optional<Error> end_;
    bool has_dropped_ = false;
    Wakeup idle_;  ///< woken when nothing runs any more
};

/// Whether a log level is below another; unknown ones are above all.
bool is_lower_level(std::string_view level, std::string_view than);

}  // namespace crab::mcp
