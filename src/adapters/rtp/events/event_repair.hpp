#pragma once

#include "base/clock.hpp"
#include "core/events/event_store.hpp"

#include <vector>

/// Repairs the outbox after a crash, before it is opened. Blocking. Errors: those of the store.
namespace crab::rtp {

Result<void> append_events(core::EventStore& store, const std::vector<core::NewEvent>& events,
                           const Clock& clock);

/// Appends those of `requests`, recorded elsewhere since `oldest`, that are missing in the outbox.
Result<void> append_lost_requests(core::EventStore& store, std::vector<core::NewEvent> requests,
                                  SystemTime oldest, const Clock& clock);

}  // namespace crab::rtp
