#pragma once

#include "base/result.hpp"
#include "base/task/maybe_task.hpp"
#include "core/call/tool_result.hpp"

#include <expected>
#include <memory>
#include <string>

namespace crab::core {

/// What a call ended with; shared by everybody who waits for it. Null where it says so.
using OutcomeRef = std::shared_ptr<const Outcome>;

/// What a stage of the pipeline gives: the call as the next stage takes it, or what the call ends
/// with, which may well be a success (a repeat's).
template <class T>
using Reached = std::expected<T, OutcomeRef>;

/// The same of a stage that sometimes has to wait.
template <class T>
using Step = MaybeTask<Reached<T>>;

inline OutcomeRef ended(Error error) {
    return std::make_shared<const Outcome>(fail(std::move(error)));
}
inline OutcomeRef ended(ErrorCode code, std::string message) {
    return std::make_shared<const Outcome>(fail(code, std::move(message)));
}

/// `return end_with(...)` from a stage: the call goes no further.
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
