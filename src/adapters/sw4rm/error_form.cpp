#include "adapters/sw4rm/error_form.hpp"

namespace crab::sw4rm {

ErrorForm form_of(ErrorCode code) {
    using S = net::GrpcStatus;
    switch (code) {
        case ErrorCode::kInvalidArgs: return {S::kInvalidArgument, "VALIDATION_ERROR"};
        case ErrorCode::kToolNotFound: return {S::kNotFound, "NOT_FOUND"};
        case ErrorCode::kNotFound: return {S::kNotFound, "NOT_FOUND"};
        case ErrorCode::kUnauthenticated: return {S::kUnauthenticated, "UNAUTHENTICATED"};
        case ErrorCode::kForbidden: return {S::kPermissionDenied, "PERMISSION_DENIED"};
        case ErrorCode::kAuthRequired: return {S::kFailedPrecondition, "AUTH_REQUIRED"};
        case ErrorCode::kPairingRequired: return {S::kFailedPrecondition, "PAIRING_REQUIRED"};
        case ErrorCode::kPairingFailed: return {S::kFailedPrecondition, "PAIRING_REQUIRED"};
        case ErrorCode::kApprovalRequired: return {S::kPermissionDenied, "APPROVAL_REQUIRED"};
        case ErrorCode::kPolicyUnenforceable:
            return {S::kFailedPrecondition, "POLICY_UNENFORCEABLE"};
        case ErrorCode::kWorktreeNotBound: return {S::kFailedPrecondition, "worktree_not_bound"};
        case ErrorCode::kAmbiguousTool: return {S::kFailedPrecondition, "AMBIGUOUS_TOOL"};
        case ErrorCode::kConflict: return {S::kAlreadyExists, "DUPLICATE_DETECTED"};
        case ErrorCode::kAlreadyInProgress: return {S::kAborted, "ALREADY_IN_PROGRESS", true};
        case ErrorCode::kRateLimited: return {S::kResourceExhausted, "OVERLOADED", true};
        case ErrorCode::kOversize: return {S::kResourceExhausted, "OVERSIZE_PAYLOAD"};
        case ErrorCode::kUnavailable: return {S::kUnavailable, "AGENT_UNAVAILABLE", true};
        case ErrorCode::kTimeout: return {S::kDeadlineExceeded, "TOOL_TIMEOUT"};
        case ErrorCode::kWallTimeout: return {S::kDeadlineExceeded, "WALL_TIMEOUT"};
        case ErrorCode::kCpuBudgetExceeded: return {S::kResourceExhausted, "CPU_BUDGET_EXCEEDED"};
        case ErrorCode::kCancelled: return {S::kCancelled, "CANCELLED"};
        case ErrorCode::kOutcomeUnknown: return {S::kUnknown, "OUTCOME_UNKNOWN"};
        case ErrorCode::kToolFailed: return {S::kUnknown, "TOOL_FAILED"};
        case ErrorCode::kInternal: return {S::kInternal, "INTERNAL_ERROR"};
    }
    return {S::kInternal, "INTERNAL_ERROR"};
}

ErrorForm form_of(const Error& error) {
    ErrorForm form = form_of(error.code);
    if (error.code == ErrorCode::kToolFailed) form.retry_able = error.may_retry();
    return form;
}

}  // namespace crab::sw4rm
