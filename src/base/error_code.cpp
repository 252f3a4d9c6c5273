// Made by scripts/gen_errors.py from spec/errors.json: edit that file, not this one.
// clang-format off
#include "base/error_code.hpp"

#include <array>

namespace crab {
namespace {

constexpr std::array kAll{
    ErrorCode::kInvalidArgs,
    ErrorCode::kToolNotFound,
    ErrorCode::kNotFound,
    ErrorCode::kUnauthenticated,
    ErrorCode::kForbidden,
    ErrorCode::kAuthRequired,
    ErrorCode::kPairingRequired,
    ErrorCode::kPairingFailed,
    ErrorCode::kApprovalRequired,
    ErrorCode::kPolicyUnenforceable,
    ErrorCode::kWorktreeNotBound,
    ErrorCode::kAmbiguousTool,
    ErrorCode::kConflict,
    ErrorCode::kAlreadyInProgress,
    ErrorCode::kRateLimited,
    ErrorCode::kOversize,
    ErrorCode::kUnavailable,
    ErrorCode::kTimeout,
    ErrorCode::kWallTimeout,
    ErrorCode::kCpuBudgetExceeded,
    ErrorCode::kCancelled,
    ErrorCode::kOutcomeUnknown,
    ErrorCode::kToolFailed,
    ErrorCode::kInternal,
};

}  // namespace

std::span<const ErrorCode> all_error_codes() { return kAll; }

std::string_view token_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidArgs: return "INVALID_ARGS";
        case ErrorCode::kToolNotFound: return "TOOL_NOT_FOUND";
        case ErrorCode::kNotFound: return "NOT_FOUND";
        case ErrorCode::kUnauthenticated: return "UNAUTHENTICATED";
        case ErrorCode::kForbidden: return "FORBIDDEN";
        case ErrorCode::kAuthRequired: return "AUTH_REQUIRED";
        case ErrorCode::kPairingRequired: return "PAIRING_REQUIRED";
        case ErrorCode::kPairingFailed: return "PAIRING_FAILED";
        case ErrorCode::kApprovalRequired: return "APPROVAL_REQUIRED";
        case ErrorCode::kPolicyUnenforceable: return "POLICY_UNENFORCEABLE";
        case ErrorCode::kWorktreeNotBound: return "WORKTREE_NOT_BOUND";
        case ErrorCode::kAmbiguousTool: return "AMBIGUOUS_TOOL";
        case ErrorCode::kConflict: return "CONFLICT";
        case ErrorCode::kAlreadyInProgress: return "ALREADY_IN_PROGRESS";
        case ErrorCode::kRateLimited: return "RATE_LIMITED";
        case ErrorCode::kOversize: return "OVERSIZE";
        case ErrorCode::kUnavailable: return "UNAVAILABLE";
        case ErrorCode::kTimeout: return "TIMEOUT";
        case ErrorCode::kWallTimeout: return "WALL_TIMEOUT";
        case ErrorCode::kCpuBudgetExceeded: return "CPU_BUDGET_EXCEEDED";
        case ErrorCode::kCancelled: return "CANCELLED";
        case ErrorCode::kOutcomeUnknown: return "OUTCOME_UNKNOWN";
        case ErrorCode::kToolFailed: return "TOOL_FAILED";
        case ErrorCode::kInternal: return "INTERNAL";
    }
    return {};
}

std::string_view next_step(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidArgs:
            return
                "Fix the value that the message names by JSON pointer, then call again.";
        case ErrorCode::kToolNotFound:
            return
                "List the tools (crab tools list) and use a name from there; a device's tools "
                "exist only while it is connected.";
        case ErrorCode::kNotFound:
            return
                "Check the id; what belongs to others answers the same way.";
        case ErrorCode::kUnauthenticated:
            return
                "Pair the device or make a token (crab devices pair), and send it as a bearer "
                "token.";
        case ErrorCode::kForbidden:
            return
                "Ask the operator; crab calls show CALL_ID names the rule.";
        case ErrorCode::kAuthRequired:
            return
                "Let the person sign in or allow it there, then call again.";
        case ErrorCode::kPairingRequired: return "Pair it first (crab peers pair).";
        case ErrorCode::kPairingFailed:
            return
                "Read the message for the step that failed and pair again.";
        case ErrorCode::kApprovalRequired: return "Have it approved, then call again.";
        case ErrorCode::kPolicyUnenforceable:
            return
                "Drop the restriction, or run the tool where crab doctor says it can be "
                "enforced.";
        case ErrorCode::kWorktreeNotBound:
            return
                "Bind one (crab worktrees bind), then call again.";
        case ErrorCode::kAmbiguousTool:
            return
                "Use one of the qualified names that the message lists.";
        case ErrorCode::kConflict: return "Use a new id or key for a new call.";
        case ErrorCode::kAlreadyInProgress:
            return
                "Wait for it to end and ask again with the same id.";
        case ErrorCode::kRateLimited: return "Wait for retry_after and call again.";
        case ErrorCode::kOversize: return "Send or ask for less, or page through it.";
        case ErrorCode::kUnavailable: return "Call again when it is back.";
        case ErrorCode::kTimeout: return "Call again with more time if repeating is safe.";
        case ErrorCode::kWallTimeout:
            return
                "Call again with a larger budget if repeating is safe.";
        case ErrorCode::kCpuBudgetExceeded:
            return
                "Call again with a larger budget if repeating is safe.";
        case ErrorCode::kCancelled: return "Nothing, unless it was cancelled by mistake.";
        case ErrorCode::kOutcomeUnknown:
            return
                "Find out whether it took effect before repeating it.";
        case ErrorCode::kToolFailed: return "Read its message.";
        case ErrorCode::kInternal: return "See the log of that time; report it.";
    }
    return {};
}

bool is_retryable(ErrorCode code) {
    switch (code) {
        case ErrorCode::kAlreadyInProgress:
        case ErrorCode::kRateLimited:
        case ErrorCode::kUnavailable:
            return true;
        case ErrorCode::kInvalidArgs:
        case ErrorCode::kToolNotFound:
        case ErrorCode::kNotFound:
        case ErrorCode::kUnauthenticated:
        case ErrorCode::kForbidden:
        case ErrorCode::kAuthRequired:
        case ErrorCode::kPairingRequired:
        case ErrorCode::kPairingFailed:
        case ErrorCode::kApprovalRequired:
        case ErrorCode::kPolicyUnenforceable:
        case ErrorCode::kWorktreeNotBound:
        case ErrorCode::kAmbiguousTool:
        case ErrorCode::kConflict:
        case ErrorCode::kOversize:
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout:
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kCancelled:
        case ErrorCode::kOutcomeUnknown:
        case ErrorCode::kToolFailed:
        case ErrorCode::kInternal:
            return false;
    }
    return false;
}

std::optional<ErrorCode> find_error_code(std::string_view token) {
    for (const ErrorCode code : kAll) {
        if (token_of(code) == token) return code;
    }
    return std::nullopt;
}

}  // namespace crab
