#pragma once

#include "base/id_source.hpp"
#include "base/task.hpp"
#include "core/admitted_call.hpp"
#include "core/tool_result.hpp"

#include <chrono>

namespace crab::core {

/// Hears of every call that is about to be dispatched, and of its end: the pipeline calls ended() exactly once for each
/// requested() that answered true. Thread-safe; shared by the pipelines of all loops.
class CallEvents {
public:
    virtual ~CallEvents() = default;

    /// Whether this call's events are worth building. Asked on the path of every call, so it must cost next to nothing.
    virtual bool wants(const Tool& tool) const = 0;
    /// The call goes to its tool now. `request_id` is to be the event's id. For a tool with side effects it returns when the event
    /// is durable, for others at once. False: there is no such event and there will be no end of it.
    virtual Task<bool> requested(const AdmittedCall& call, UuidText request_id) = 0;
    /// The call of that request has ended so, `duration` after it came. Returns at once.
    virtual void ended(const AdmittedCall& call, UuidText request_id, UuidText event_id, const Outcome& outcome, std::chrono::nanoseconds duration) = 0;
};

}  // namespace crab::core
