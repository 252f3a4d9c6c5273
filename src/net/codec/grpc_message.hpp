#pragma once

#include "base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// gRPC on HTTP/2 (the "gRPC over HTTP2" protocol): messages with their prefix, status messages,
/// deadlines. Pure functions.
namespace crab::net {

constexpr std::size_t kGrpcPrefix = 5;  ///< compressed flag and length, in front of every message

/// What a body begins with.
struct GrpcFrame {
    enum class Kind : std::uint8_t {
        kNeedMore,  ///< `size` bytes are needed in all
        kMessage,  ///< `message`, of `size` bytes with its prefix
        kNoFlag,  ///< the first byte is neither 0 nor 1
        kTooLarge,
    };
    Kind kind = Kind::kNeedMore;
    std::size_t size = kGrpcPrefix;
    std::string_view message;  ///< points into the body
    bool compressed = false;  ///< by what `grpc-encoding` names
};
GrpcFrame read_grpc_frame(std::string_view body, std::size_t most_bytes);

/// A message with its prefix: append the message to `out` in between. `begun` is what
/// begin_grpc_frame() returned.
std::size_t begin_grpc_frame(std::string& out);
void end_grpc_frame(std::string& out, std::size_t begun);

/// Packs the message that end_grpc_frame() has ended with gzip, where that makes it smaller by a
/// quarter. False: it stays as it is.
bool pack_grpc_frame(std::string& out, std::size_t begun);
/// What the packing of a message may be named by us, for `grpc-accept-encoding`.
constexpr std::string_view kGrpcEncodings = "identity,gzip";
constexpr std::string_view kGrpcGzip = "gzip";
/// Whether a `grpc-accept-encoding` has gzip in it.
bool accepts_gzip(std::string_view accepted);

/// `grpc-message`: printable ASCII but `%` stays, everything else is `%XX`.
std::string grpc_message_text(std::string_view message);
/// The reverse; what is malformed stays as it is.
std::string parse_grpc_message(std::string_view text);

/// `grpc-timeout`: at most 8 digits and a unit of `HMSmun`; nothing when malformed.
std::optional<std::chrono::nanoseconds> parse_grpc_timeout(std::string_view text);
/// In the finest unit that fits, never longer than `timeout` but by rounding up to that unit.
std::string grpc_timeout_text(std::chrono::nanoseconds timeout);

}  // namespace crab::net
