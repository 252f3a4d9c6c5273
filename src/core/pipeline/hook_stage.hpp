#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Runs the operator's hooks before a call, in configuration order, and after it.
class HookStage {
public:
    /// Calls without a matching hook pass immediately. A hook that fails denies the call; replaced
    /// arguments are authorized again.
    static Step<HookedCall> pass(AuthorizedCall authorized, CallInProgress& progress);
    /// Runs the hooks that match the call's tool.
    static Task<Reached<HookedCall>> ask(AuthorizedCall authorized, CallInProgress& progress);
    static bool apply(const CallRules& rules, const Tool& tool);
    /// After the call, whatever its outcome. Exceptions of hooks are recorded with the call.
    static Task<void> tell(const Outcome& outcome, CallInProgress& progress);

private:
    static Task<Reached<HookedCall>> ask_in_time(AuthorizedCall authorized,
                                                 CallInProgress& progress);
};

}  // namespace crab::core
