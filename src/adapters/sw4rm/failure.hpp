#pragma once

#include "base/error.hpp"
#include "net/grpc/grpc_client_call.hpp"

#include <cstdint>
#include <expected>
#include <optional>

namespace crab::sw4rm {

/// Why a call at another ToolService has no result.
struct CallFailure {
    Error error;                      ///< in protocol-neutral terms, fit for the pipeline
    net::GrpcStatus status = net::GrpcStatus::kUnknown;
    bool answered = false;            ///< the other side said so
    std::optional<bool> retry_able;   ///< its trailer
    std::uint64_t frames = 0;         ///< that came before
};

/// Reads the end of a call that has no status OK: token, trailer, status, in this order
/// (docs/protocols/sw4rm.md, section 13). What the other side may have begun and has not decided is
/// kOutcomeUnknown, kUnavailable only what it surely did not do.
CallFailure read_failure(const net::GrpcClientCall& call);

}  // namespace crab::sw4rm
