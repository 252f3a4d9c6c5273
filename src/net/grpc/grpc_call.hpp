#pragma once

#include "net/codec/grpc_status.hpp"
#include "net/grpc/grpc_reader.hpp"
#include "net/http2/http2_stream.hpp"

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::net {

/// A failed end of a call.
struct GrpcFailure {
    GrpcStatus status = GrpcStatus::kInternal;
    std::string message;
};

/// The server's side of one gRPC call: messages in, messages out, one status. Moves with the
/// coroutine that serves it.
class GrpcCall {
public:
    static constexpr std::size_t kMostMessageBytes = GrpcReader::kMostMessageBytes;

    explicit GrpcCall(std::shared_ptr<Http2Stream> stream);

    /// `/package.Service/Method`.
    std::string_view path() const { return stream_->fields().find(":path").value_or(""); }
    /// Metadata by its name in lower case.
    std::optional<std::string_view> metadata(std::string_view name) const {
        return stream_->fields().find(name);
    }
    const PeerAddress& peer() const { return stream_->peer(); }
    EventLoop& loop() const { return stream_->loop(); }
    /// By `grpc-timeout`; kNoDeadline when the caller set none.
    Deadline deadline() const { return deadline_; }
    /// Whether the caller sent an invalid `grpc-timeout`.
    bool has_broken_timeout() const { return broken_timeout_; }
    bool gone() const { return stream_->gone(); }
    Http2Stream& stream() const { return *stream_; }

    /// The next message, which holds until the next read; nothing when the caller has sent all.
    /// Failures: kResourceExhausted above 4 MiB, unpacked too, kInvalidArgument for half a message
    /// and for one that is not packed as `grpc-encoding` says, kDeadlineExceeded at `deadline`,
    /// kCancelled when the caller is gone.
    using Message = std::expected<std::optional<std::string_view>, GrpcFailure>;
    Task<Message> read(Deadline deadline);
    /// The one message of a call that takes one, kept until the call has ended, once the caller has
    /// sent all; none and a second one are failures, kInvalidArgument.
    Task<std::expected<std::string_view, GrpcFailure>> read_only(Deadline deadline);

    /// Appends a message to what this returns, then end_message(); nothing may be awaited in
    /// between.
    std::string& begin_message();
    void end_message();
    /// Waits until less than `most` bytes are queued for the caller, counting compressed messages
    /// by their uncompressed size.
    Task<WaitEnd> drained(std::size_t most, Deadline deadline);
    std::size_t queued_bytes() const { return stream_->queued_bytes(); }

    /// Ends the call, once; `trailers` in addition to status and message, names in lower case.
    void finish(GrpcStatus status, std::string_view message = {},
                std::span<const HttpHeader> trailers = {});
    void finish(const GrpcFailure& failure) { finish(failure.status, failure.message); }

private:
    /// A packed message that may wait.
    struct QueuedMessage {
        std::uint64_t end;  // where it ends in all that was written
        std::size_t saved;
    };
    void send_head(std::size_t first_message);
    std::size_t queued_for(std::size_t most);

    std::shared_ptr<Http2Stream> stream_;
    std::string request_;  // what read_only() keeps
    Deadline deadline_ = kNoDeadline;
    GrpcReader reader_;
    bool broken_timeout_ = false;
    bool packs_ = false;  // the answer's head names gzip
    std::size_t begun_ = 0;  // where the message that is being written began
    std::uint64_t written_ = 0;
    std::vector<QueuedMessage> packed_;
    std::size_t saved_ = 0;  // by all of them
};

}  // namespace crab::net
