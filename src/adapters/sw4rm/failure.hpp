#pragma once

#include "base/error.hpp"
#include "net/grpc/grpc_client_call.hpp"

#include <cstdint>
#include <expected>
#include <optional>

namespace crab::sw4rm {

/// Why a call to another ToolService failed.
struct CallFailure {
    Error error;                      ///< as the pipeline expects it
    net::GrpcStatus status = net::GrpcStatus::kUnknown;
    bool answered = false;            ///< the server reported it
    std::optional<bool> retry_able;   ///< its trailer
    std::uint64_t frames = 0;         ///< received before it failed
    bool impatient = false;           ///< not begun in the caller's time: no fault of the server
};

/// Reads the end of a call that has no status OK: token, trailer, status, in this order
/// (docs/protocols/sw4rm.md, section 13). kOutcomeUnknown if the server may have started the call,
/// kUnavailable only if it certainly did not.
CallFailure read_failure(const net::GrpcClientCall& call);

}  // namespace crab::sw4rm
