#pragma once

#include "adapters/sw4rm/failure.hpp"
#include "net/grpc/grpc_channel.hpp"

#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace crab::sw4rm {

/// Client of one sw4rm gRPC server, on one event loop: its channel, the token that every RPC
/// carries, and unary RPCs. Never retries.
class ServiceClient {
public:
    struct Options {
        net::GrpcChannel::Options channel;
        std::string token;   ///< bearer token of every RPC; empty: none is sent
    };
    ServiceClient(net::EventLoop& loop, Options options);

    using Begun = std::expected<net::GrpcClientCall, CallFailure>;
    /// Starts an RPC with one message. `metadata` has names in lower case; values with control
    /// characters are left out. Errors: kUnavailable (nothing was started), kCancelled, kForbidden,
    /// kPairingRequired.
    Task<Begun> begin(std::string_view path, std::string request,
                      std::span<const net::HttpHeader> metadata, Deadline deadline,
                      Deadline patience);
    /// A unary RPC. Errors: the server's; kTimeout, kCancelled, kUnavailable, kOutcomeUnknown,
    /// kInternal.
    Task<std::expected<std::string, CallFailure>> unary(std::string_view path, std::string request,
                                                        Deadline patience);

    /// The next RPC makes a new connection.
    void retire() { channel_.retire(); }
    /// Closes the connection and fails its RPCs.
    void close() { channel_.close(); }

private:
    net::EventLoop& loop_;
    const std::string authorization_;
    net::GrpcChannel channel_;
};

/// A failure detected by this client.
CallFailure local_failure(ErrorCode code, std::string message, std::uint64_t frames = 0);

}  // namespace crab::sw4rm
