#pragma once

#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/call/call.hpp"
#include "core/call/tool.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace crab::core {

struct Proceed {};
/// New arguments, a JSON object; they are authorized and validated again.
struct Replace {
    std::string args;
};
struct Deny {
    std::string reason;
    ErrorCode code = ErrorCode::kForbidden;   ///< another code when the hook could not run
};
using HookAnswer = std::variant<Proceed, Replace, Deny>;

/// The data that a hook sees, without credentials or policy. Valid while the hook is awaited.
struct HookView {
    const Call& call;
    const Tool& tool;
    const Principal& principal;
    Deadline deadline;
    TimerWheel& timers;   ///< of the call's loop
};

/// Code that runs before and after a call. One object serves all event loops and must be
/// thread-safe.
class Hook {
public:
    virtual ~Hook() = default;
    virtual std::string_view name() const = 0;
    virtual bool applies_to(const Tool& tool) const = 0;
    /// Before the call; awaited in configuration order. An exception denies the call.
    virtual Task<HookAnswer> before(HookView) { co_return Proceed{}; }
    /// After it, whatever its outcome.
    virtual Task<void> after(HookView, const Outcome&) { co_return; }
};

}  // namespace crab::core
