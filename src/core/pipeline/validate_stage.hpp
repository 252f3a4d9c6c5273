#pragma once

#include "core/pipeline/call_in_progress.hpp"
#include "core/pipeline/stage.hpp"

namespace crab::core {

/// Validates the arguments against the tool's schema, then computes execution policy and deadline.
class ValidateStage {
public:
    /// Ends with kInvalidArgs, whose details name each pointer and rule, and with the errors of
    /// bind_policy().
    static Reached<ValidatedCall> pass(HookedCall hooked, CallInProgress& progress);
    /// The arguments only; without nulls that the tool has dropped they are authorized again.
    static Result<void> check(const Tool& tool, CallInProgress& progress);
};

}  // namespace crab::core
