#pragma once

#include "base/clock.hpp"
#include "core/events/event_store.hpp"

#include <vector>

/// What a start of the gateway makes up for in the outbox, before that is opened. Blocking. Errors:
/// those of the store.
namespace crab::rtp {

Result<void> append_events(core::EventStore& store, const std::vector<core::NewEvent>& events,
                           const Clock& clock);

/// Writes those of `requests`, recorded elsewhere since `oldest`, that the outbox was to have a
/// moment later and lacks.
Result<void> append_lost_requests(core::EventStore& store, std::vector<core::NewEvent> requests,
                                  SystemTime oldest, const Clock& clock);

}  // namespace crab::rtp
