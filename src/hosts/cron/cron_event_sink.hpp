#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"

#include <string>

namespace crab::cron {

/// Publishes events: to the gateway's outbox in the same process, or by POST /v1/events.
class CronEventSink {
public:
    virtual ~CronEventSink() = default;
    /// Success means that the event is durable at the sink, also for a repeat. Has a deadline of
    /// its own. Errors: kConflict for another event under the same key; kInvalidArgs, kForbidden,
    /// kOversize, kNotFound when it rejects this event; any other when it is not available.
    virtual Task<Result<void>> publish(std::string envelope) = 0;
};

}  // namespace crab::cron
