#pragma once

#include "adapters/sw4rm/messages.hpp"
#include "adapters/sw4rm/service_client.hpp"
#include "base/task/task_group.hpp"
#include "core/call/frame_sink.hpp"

#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace crab::sw4rm {

/// The client of one ToolService, on one event loop: what providers are called with, and what
/// `crab::ToolClient` is made of. It repeats nothing. A call that its caller gives up is cancelled
/// at the other side. Source: docs/protocols/sw4rm.md.
class ToolServiceClient {
public:
    struct Options {
        ServiceClient::Options service;
        /// Of a result; a stream passes on more than this and keeps nothing then
        std::size_t most_kept = std::size_t{8} << 20;
    };
    ToolServiceClient(net::EventLoop& loop, Options options);

    /// One call; its views hold until it has ended.
    struct Order {
        ToolCall call;
        /// Names in lower case; values with control characters are left out
        std::span<const net::HttpHeader> metadata;
        Deadline deadline = kNoDeadline;            ///< that the other side is told
        Deadline patience = kNoDeadline;            ///< when it is given up here: kTimeout
    };
    struct Answer {
        std::string data;          ///< empty for a stream whose output was too long to be kept
        std::string content_type;
        std::string summary;       ///< JSON, or what the other side took for it
        std::uint64_t frames = 0;
        std::uint64_t bytes = 0;   ///< of all frames
    };
    using Ended = std::expected<Answer, CallFailure>;

    /// One frame. Errors: what the other side says; kTimeout, kCancelled, kUnavailable (not
    /// started), kOutcomeUnknown, kOversize, kInternal for an answer that breaks a rule.
    Task<Ended> call(Order order);
    /// The same by CallStream: frames go to `sink` as they come, and while it is not drained the
    /// other side is held back.
    Task<Ended> call_stream(Order order, core::FrameSink& sink);
    /// What the other side says of a cancel: `CANCELLED`, `ALREADY_COMPLETED`, `NOT_FOUND`, …
    Task<std::expected<std::string, CallFailure>> cancel(std::string call_id, Deadline patience);
    /// DescribeTools: the response as it came; nothing when the other side has no ConnectorService.
    Task<std::expected<std::optional<std::string>, CallFailure>> describe(
        std::string_view provider_id, Deadline patience);

    /// The next call makes a new connection.
    void retire() { service_.retire(); }
    /// Ends the connection and what is in progress, and calls `done` when nothing is left.
    void stop(std::function<void()> done);

private:
    CallFailure give_up(net::GrpcClientCall call, std::string_view call_id,
                        net::GrpcClientCall::Next why, std::uint64_t frames);
    Task<void> cancel_and_drop(net::GrpcClientCall call, std::string call_id);

    net::EventLoop& loop_;
    const std::size_t most_kept_;
    ServiceClient service_;
    TaskGroup tasks_;  // cancels on their way
};

}  // namespace crab::sw4rm
