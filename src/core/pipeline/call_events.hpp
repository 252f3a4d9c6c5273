#pragma once

#include "base/id_source.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/tool_result.hpp"
#include "core/events/event_store.hpp"

#include <chrono>
#include <memory>

namespace crab::core {

/// Notified of every dispatched call and of its end: the pipeline calls ended() exactly once for
/// each requested() that returned true. Does not wait for the events: a recorded call has its
/// request event in the record, from which lost events are restored after a crash. Thread-safe;
/// shared by the pipelines of all loops.
class CallEvents {
public:
    virtual ~CallEvents() = default;

    /// Whether events of this tool's calls are wanted. On the hot path: must be cheap.
    virtual bool wants(const Tool& tool) const = 0;
    /// The request event of `call`; `request_id` is its id.
    virtual std::unique_ptr<NewEvent> request(const AdmittedCall& call, UuidText request_id) = 0;
    /// The call is being dispatched. Must not block. False: the event is dropped, and ended() is
    /// not called.
    virtual bool requested(NewEvent request) = 0;
    /// The call has ended, `duration` after its arrival. Must not block.
    virtual void ended(const AdmittedCall& call, UuidText request_id, UuidText event_id,
                       const Outcome& outcome, std::chrono::nanoseconds duration) = 0;
};

}  // namespace crab::core
