#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Code that the operator put around calls: asked before a call, in the order of the configuration,
/// and told of its end.
class HookStage {
public:
    /// Calls that no hook applies to pass at once. A hook that fails denies; new arguments are
    /// judged by the policy again.
    static Step<HookedCall> pass(AuthorizedCall authorized, CallInProgress& progress);
    /// The hooks alone, which apply to the tool of the call.
    static Task<Reached<HookedCall>> ask(AuthorizedCall authorized, CallInProgress& progress);
    static bool apply(const CallRules& rules, const Tool& tool);
    /// After the call, whatever its outcome. What a hook throws is a fact of the call.
    static Task<void> tell(const Outcome& outcome, CallInProgress& progress);

private:
    static Task<Reached<HookedCall>> ask_in_time(AuthorizedCall authorized,
                                                 CallInProgress& progress);
};

}  // namespace crab::core
