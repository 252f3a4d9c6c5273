#pragma once

#include "base/id_source.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/tool_result.hpp"
#include "core/events/event_store.hpp"

#include <chrono>
#include <memory>

namespace crab::core {

/// Is notified of every call that is dispatched, and of its end: the pipeline calls ended() exactly
/// once for each requested() that answered true. Nothing waits for the events themselves: a call
/// that is recorded has its request in that record, from which what a crash took is made up for.
/// Thread-safe; shared by the pipelines of all loops.
class CallEvents {
public:
    virtual ~CallEvents() = default;

    /// Whether this call's events are worth building. Asked on the path of every call, so it must
    /// cost next to nothing.
    virtual bool wants(const Tool& tool) const = 0;
    /// The event that tells of `call`; `request_id` is its id.
    virtual std::unique_ptr<NewEvent> request(const AdmittedCall& call, UuidText request_id) = 0;
    /// The call of that request goes to its tool now. Returns at once. False: there is no such
    /// event and there will be no end of it.
    virtual bool requested(NewEvent request) = 0;
    /// The call of that request has ended so, `duration` after it came. Returns at once.
    virtual void ended(const AdmittedCall& call, UuidText request_id, UuidText event_id,
                       const Outcome& outcome, std::chrono::nanoseconds duration) = 0;
};

}  // namespace crab::core
