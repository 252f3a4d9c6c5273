#pragma once

#include "base/error.hpp"
#include "net/codec/grpc_status.hpp"

#include <string_view>

namespace crab::sw4rm {

/// An error as gRPC carries it: docs/protocols/sw4rm.md, section 7.
struct ErrorForm {
    net::GrpcStatus status;
    std::string_view token;
    bool retry_able = false;
};

/// The wire form of `error`; kToolFailed is retryable if its tool says so.
ErrorForm form_of(const Error& error);
ErrorForm form_of(ErrorCode code);

/// Tokens that have no ErrorCode of their own, since only this front distinguishes them.
inline constexpr ErrorForm kNoRoute{net::GrpcStatus::kNotFound, "NO_ROUTE"};
inline constexpr ErrorForm kShuttingDown{net::GrpcStatus::kUnavailable, "AGENT_SHUTDOWN", true};

}  // namespace crab::sw4rm
