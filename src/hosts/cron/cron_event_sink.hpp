#pragma once

#include "base/result.hpp"
#include "base/task/task.hpp"

#include <string>

namespace crab::cron {

/// Where events go: the gateway's outbox in the same process, or its POST /v1/events.
class CronEventSink {
public:
    virtual ~CronEventSink() = default;
    /// Success means that the sink has taken over (its answer is durable), also for an event that
    /// it had already. It ends by a deadline of its own. Errors: kConflict when it has another
    /// event under the key; kInvalidArgs, kForbidden, kOversize, kNotFound when it does not want
    /// this one; any other when it takes nothing now.
    virtual Task<Result<void>> publish(std::string envelope) = 0;
};

}  // namespace crab::cron
