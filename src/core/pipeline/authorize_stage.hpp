#pragma once

#include "core/pipeline/call_in_progress.hpp"

namespace crab::core {

/// From a name to a tool that this caller may call: resolve, then the policy's verdict on this call
/// with these arguments. Nothing here waits.
class AuthorizeStage {
public:
    explicit AuthorizeStage(LoopServices& loop) : loop_(loop) {}

    /// Before anything is looked up: whether the gateway can take a call now, and for which agent
    /// it is. Errors: kUnavailable, kCancelled when its end was asked for before it came,
    /// kInvalidArgs.
    Result<void> arrive(CallInProgress& progress);
    /// Errors: those of the registry; kForbidden, kInvalidArgs. `facts.tool` is null when the name
    /// led nowhere.
    Result<AuthorizedCall> pass(AuthenticatedCall authenticated, CallInProgress& progress);
    /// The verdict alone, for `tool`.
    static Result<AuthorizedCall> decide(const ToolRef& tool, CallInProgress& progress);
    /// The verdict once more, by the rules of now and for the tool of now: while somebody thought
    /// about the call, both may have changed. Errors: kUnavailable, kForbidden.
    Result<AuthorizedCall> decide_again(const AuthorizedCall& before, CallInProgress& progress);

private:
    LoopServices& loop_;
};

}  // namespace crab::core
