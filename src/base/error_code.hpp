// Made by scripts/gen_errors.py from spec/errors.json: edit that file, not this one.
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace crab {

/// What can go wrong; every protocol maps each code to its own form.
enum class ErrorCode : std::uint8_t {
    /// The arguments or a field of the request are not what the tool or the protocol accepts.
    kInvalidArgs,
    /// No tool of that name is visible to this caller.
    kToolNotFound,
    /// The named thing other than a tool (call, session, device, path) does not exist for this
    /// caller.
    kNotFound,
    /// No valid credential came with the request.
    kUnauthenticated,
    /// A rule, role or hook forbids it for this principal.
    kForbidden,
    /// The tool needs a sign-in or a grant of the person at its device.
    kAuthRequired,
    /// The other side is not paired with this gateway.
    kPairingRequired,
    /// The pairing handshake did not complete; nothing was stored.
    kPairingFailed,
    /// The call needs a person's approval, and nobody could be asked in time.
    kApprovalRequired,
    /// The call asks for a restriction that cannot be enforced where the tool runs.
    kPolicyUnenforceable,
    /// The tool works in a worktree, and none is bound for this caller.
    kWorktreeNotBound,
    /// Several devices or hosts offer that name.
    kAmbiguousTool,
    /// The same call id or idempotency key was used before with other content.
    kConflict,
    /// The same call is running and cannot be joined.
    kAlreadyInProgress,
    /// A rate, concurrency or queue limit was reached; nothing was sent.
    kRateLimited,
    /// A request, message or result is larger than its limit.
    kOversize,
    /// The device or host that runs the tool could not be reached; the call was not started.
    kUnavailable,
    /// No answer came before the deadline; the tool may have run.
    kTimeout,
    /// The call's wall-clock budget was used up over all its attempts; the tool was ended.
    kWallTimeout,
    /// The call's CPU budget was used up over all its attempts; the tool was ended.
    kCpuBudgetExceeded,
    /// The call was cancelled by its caller or an operator.
    kCancelled,
    /// The call was sent and no outcome came back; the tool may or may not have run.
    kOutcomeUnknown,
    /// The tool ran and said no.
    kToolFailed,
    /// The gateway or a host broke one of its own rules.
    kInternal,
};

/// Every code, in the order of spec/errors.json.
std::span<const ErrorCode> all_error_codes();
/// The code's token as people and logs see it, such as `INVALID_ARGS`.
std::string_view token_of(ErrorCode code);
/// What to do next, one sentence; never empty.
std::string_view next_step(ErrorCode code);
/// Whether a call that ended so may succeed if repeated unchanged; the pipeline still asks
/// whether that is safe.
bool is_retryable(ErrorCode code);
/// The code with this token; nothing for any other text.
std::optional<ErrorCode> find_error_code(std::string_view token);

}  // namespace crab
