#pragma once

#include "base/result.hpp"
#include "base/task/maybe_task.hpp"
#include "core/call/tool_result.hpp"

#include <expected>
#include <memory>
#include <string>

namespace crab::core {

/// The result of a stage: the call for the next stage, or the outcome with which it ends, which may
/// be a success (a replay).
template <class T>
using Reached = std::expected<T, OutcomeRef>;

/// The same for a stage that may wait.
template <class T>
using Step = MaybeTask<Reached<T>>;

inline OutcomeRef ended(Error error) {
    return std::make_shared<const Outcome>(fail(std::move(error)));
}
inline OutcomeRef ended(ErrorCode code, std::string message) {
    return std::make_shared<const Outcome>(fail(code, std::move(message)));
}

/// `return end_with(...)` from a stage ends the call.
inline std::unexpected<OutcomeRef> end_with(OutcomeRef outcome) {
    return std::unexpected(std::move(outcome));
}
inline std::unexpected<OutcomeRef> end_with(Error error) {
    return std::unexpected(ended(std::move(error)));
}
inline std::unexpected<OutcomeRef> end_with(ErrorCode code, std::string message) {
    return std::unexpected(ended(code, std::move(message)));
}

}  // namespace crab::core
