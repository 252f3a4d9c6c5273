#pragma once

#include "core/pipeline/call_in_progress.hpp"

namespace crab::core {

/// Resolves the name and applies the policy to this call with these arguments. Never waits.
class AuthorizeStage {
public:
    explicit AuthorizeStage(LoopServices& loop) : loop_(loop) {}

    /// Runs first: whether the gateway can accept a call now, and for which agent it is. Errors:
    /// kUnavailable, kCancelled when the cancel arrived before the call, kInvalidArgs.
    Result<void> arrive(CallInProgress& progress);
    /// The part of arrive() that leaves no trace: for which agent it is. Errors: kInvalidArgs.
    static Result<void> settle(CallInProgress& progress);
    /// Errors: those of the registry; kForbidden, kInvalidArgs. `facts.tool` is null when the name
    /// did not resolve.
    Result<AuthorizedCall> pass(AuthenticatedCall authenticated, CallInProgress& progress);
    /// Applies the policy only, for `tool`.
    static Result<AuthorizedCall> decide(const ToolRef& tool, CallInProgress& progress);
    /// Applies the current policy to the current tool again: both may have changed during an
    /// approval. Errors: kUnavailable, kForbidden.
    Result<AuthorizedCall> decide_again(const AuthorizedCall& before, CallInProgress& progress);

private:
    LoopServices& loop_;
};

}  // namespace crab::core
