#pragma once

#include "base/error.hpp"
#include "net/codec/grpc_status.hpp"

#include <string_view>

namespace crab::sw4rm {

/// How an error looks on this wire: docs/protocols/sw4rm.md, section 7.
struct ErrorForm {
    net::GrpcStatus status;
    std::string_view token;
    bool retry_able = false;
};

/// The form of `error`; kToolFailed may be repeated when its tool says so.
ErrorForm form_of(const Error& error);
ErrorForm form_of(ErrorCode code);

/// Tokens that have no ErrorCode of their own, since only this front distinguishes them.
inline constexpr ErrorForm kNoRoute{net::GrpcStatus::kNotFound, "NO_ROUTE"};
inline constexpr ErrorForm kShuttingDown{net::GrpcStatus::kUnavailable, "AGENT_SHUTDOWN", true};

}  // namespace crab::sw4rm
