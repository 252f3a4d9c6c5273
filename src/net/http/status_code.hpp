#pragma once

#include "base/error_code.hpp"

#include <optional>

namespace crab::net {

/// The code that the status of a refusal stands for when its body names none; nothing for statuses
/// that stand for no code of ours.
constexpr std::optional<ErrorCode> code_of_status(int status) {
    switch (status) {
        case 400: return ErrorCode::kInvalidArgs;
        case 401: return ErrorCode::kUnauthenticated;
        case 403: return ErrorCode::kForbidden;
        case 404: return ErrorCode::kNotFound;
        case 408:
        case 504: return ErrorCode::kTimeout;
        case 409: return ErrorCode::kConflict;
        case 413: return ErrorCode::kOversize;
        case 429: return ErrorCode::kRateLimited;
        case 502:
        case 503: return ErrorCode::kUnavailable;
        default: return std::nullopt;
    }
}

}  // namespace crab::net
