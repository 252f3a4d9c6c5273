// Made by scripts/gen_errors.py from spec/errors.json: edit that file, not this one.
// clang-format off
#include "base/error_kind.hpp"

namespace crab {

ErrorKind kind_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidArgs:
        case ErrorCode::kAmbiguousTool:
            return ErrorKind::kInvalid;
        case ErrorCode::kToolNotFound:
        case ErrorCode::kNotFound:
            return ErrorKind::kNotFound;
        case ErrorCode::kUnauthenticated:
        case ErrorCode::kAuthRequired:
        case ErrorCode::kPairingRequired:
            return ErrorKind::kUnauthenticated;
        case ErrorCode::kForbidden:
        case ErrorCode::kPairingFailed:
        case ErrorCode::kApprovalRequired:
        case ErrorCode::kPolicyUnenforceable:
        case ErrorCode::kWorktreeNotBound:
            return ErrorKind::kRefused;
        case ErrorCode::kConflict:
        case ErrorCode::kAlreadyInProgress:
            return ErrorKind::kConflict;
        case ErrorCode::kRateLimited:
            return ErrorKind::kRateLimited;
        case ErrorCode::kUnavailable:
            return ErrorKind::kUnavailable;
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout:
            return ErrorKind::kTimeout;
        case ErrorCode::kOutcomeUnknown:
            return ErrorKind::kOutcomeUnknown;
        case ErrorCode::kOversize:
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kCancelled:
        case ErrorCode::kToolFailed:
        case ErrorCode::kInternal:
            return ErrorKind::kFailed;
    }
    return ErrorKind::kFailed;
}

}  // namespace crab
