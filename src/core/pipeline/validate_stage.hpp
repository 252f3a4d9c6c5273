#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// The arguments against the tool's schema; then what binds the run: its policy and its deadline.
class ValidateStage {
public:
    /// Ends with kInvalidArgs, whose details name each place and rule, and what bind_policy()
    /// fails with.
    static Reached<ValidatedCall> pass(HookedCall hooked, CallInProgress& progress);
};

}  // namespace crab::core
