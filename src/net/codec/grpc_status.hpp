#pragma once

#include <cstdint>
#include <string_view>

namespace crab::net {

/// gRPC's status codes, with their numbers on the wire.
enum class GrpcStatus : std::uint8_t {
    kOk = 0,
    kCancelled = 1,
    kUnknown = 2,
    kInvalidArgument = 3,
    kDeadlineExceeded = 4,
    kNotFound = 5,
    kAlreadyExists = 6,
    kPermissionDenied = 7,
    kResourceExhausted = 8,
    kFailedPrecondition = 9,
    kAborted = 10,
    kOutOfRange = 11,
    kUnimplemented = 12,
    kInternal = 13,
    kUnavailable = 14,
    kDataLoss = 15,
    kUnauthenticated = 16,
};

/// The number as `grpc-status` has it.
std::string_view text_of(GrpcStatus status);
/// kUnknown for what is not a status.
GrpcStatus parse_grpc_status(std::string_view text);

}  // namespace crab::net
