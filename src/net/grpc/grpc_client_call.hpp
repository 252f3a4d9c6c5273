#pragma once

#include "net/codec/grpc_status.hpp"
#include "net/grpc/grpc_reader.hpp"
#include "net/http2/http2_stream.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::net {

/// How a call ended, as its client sees it.
struct GrpcEnd {
    GrpcStatus status = GrpcStatus::kUnknown;
    std::string message;
    /// Reported by the server; otherwise derived from the broken connection
    bool answered = false;
    bool unseen = false;    ///< the server has certainly not started it
};

/// The client's side of one gRPC call with one request: messages come in, then one status. It
/// belongs to one coroutine, on its connection's loop. Destroying it before its end cancels it at
/// the server.
class GrpcClientCall {
public:
    /// What is known about the server of a channel.
    struct Server {
        bool takes_gzip = false;
    };
    GrpcClientCall(std::shared_ptr<Http2Stream> stream, std::shared_ptr<Server> server)
        : stream_(std::move(stream)), server_(std::move(server)), packs_(server_->takes_gzip) {}
    GrpcClientCall(GrpcClientCall&&) noexcept = default;
    GrpcClientCall& operator=(GrpcClientCall&&) noexcept = default;
    ~GrpcClientCall() { cancel(); }

    /// The request, once.
    void send(std::string_view message);

    enum class Next : std::uint8_t { kMessage, kEnd, kExpired, kCancelled };
    /// Waits for the next message, or for the call's end: then end() says how. Flow control stops
    /// the server while nobody waits here.
    Task<Next> next(Deadline deadline);
    /// Of kMessage; holds until the next wait.
    std::string_view message() const { return reader_.message(); }
    /// After kEnd.
    const GrpcEnd& end() const { return end_; }
    /// A trailer by its name in lower case.
    std::optional<std::string_view> trailer(std::string_view name) const;

    /// Ends it now, if it has not ended.
    void cancel();

private:
    void note_end(GrpcReadResult news);

    std::shared_ptr<Http2Stream> stream_;
    std::shared_ptr<Server> server_;
    bool packs_;  // the request's head names gzip
    GrpcReader reader_;
    GrpcEnd end_;
};

}  // namespace crab::net
