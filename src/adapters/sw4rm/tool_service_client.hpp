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

/// Client of one ToolService, on one event loop; used by ProviderHost and `crab::ToolClient`. Never
/// retries. A call that its caller gives up is cancelled at the server. Source:
/// docs/protocols/sw4rm.md.
class ToolServiceClient {
public:
    struct Options {
        ServiceClient::Options service;
        /// Of a result; the output of a longer stream is passed on and not kept
        std::size_t most_kept = std::size_t{8} << 20;
    };
    ToolServiceClient(net::EventLoop& loop, Options options);

    /// One call; its views hold until it has ended.
    struct Order {
        ToolCall call;
        /// Names in lower case; values with control characters are left out
        std::span<const net::HttpHeader> metadata;
        Deadline deadline = kNoDeadline;  ///< sent to the server
        Deadline patience = kNoDeadline;  ///< when this client gives up: kTimeout
    };
    struct Answer {
        std::string data;  ///< empty for a stream whose output was too long to be kept
        std::string content_type;
        std::string summary;  ///< JSON, unchecked
        std::uint64_t frames = 0;
        std::uint64_t bytes = 0;  ///< of all frames
    };
    using Ended = std::expected<Answer, CallFailure>;

    /// One frame. Errors: the server's; kTimeout, kCancelled, kUnavailable (not started),
    /// kOutcomeUnknown, kOversize, kInternal for an invalid response.
    Task<Ended> call(Order order);
    /// The same by CallStream: frames go to `sink` as they arrive; back-pressure is applied while
    /// it is not drained.
    Task<Ended> call_stream(Order order, core::FrameSink& sink);
    /// The server's answer to a cancel: `CANCELLED`, `ALREADY_COMPLETED`, `NOT_FOUND`, …
    Task<std::expected<std::string, CallFailure>> cancel(std::string call_id, Deadline patience);
    /// DescribeTools: the raw response; nothing when the server has no ConnectorService.
    Task<std::expected<std::optional<std::string>, CallFailure>> describe(
        std::string_view provider_id, Deadline patience);

    /// The next call makes a new connection.
    void retire() { service_.retire(); }
    /// Closes the connection, fails its calls, and then calls `done`.
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
