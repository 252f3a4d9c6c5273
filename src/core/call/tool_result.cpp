#include "core/call/tool_result.hpp"

namespace crab::core {

std::string_view name_of(Status status) {
    switch (status) {
        case Status::kOk: return "ok";
        case Status::kError: return "error";
        case Status::kRetryableError: return "retryable_error";
        case Status::kTimeout: return "timeout";
        case Status::kCancelled: return "cancelled";
        case Status::kUnknown: return "unknown";
    }
    return "";
}

Status status_of(const Outcome& outcome) {
    if (outcome) return Status::kOk;
    const Error& error = outcome.error();
    if (error.code == ErrorCode::kTimeout || error.code == ErrorCode::kWallTimeout)
        return Status::kTimeout;
    if (error.code == ErrorCode::kCancelled) return Status::kCancelled;
    if (error.code == ErrorCode::kOutcomeUnknown) return Status::kUnknown;
    return error.may_retry() ? Status::kRetryableError : Status::kError;
}

}  // namespace crab::core
