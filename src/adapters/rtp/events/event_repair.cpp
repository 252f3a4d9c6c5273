#include "adapters/rtp/events/event_repair.hpp"

#include <set>
#include <string>

namespace crab::rtp {
namespace {

// by which the system's clock may have been set back between two commits
constexpr std::chrono::seconds kClockStep{60};

}  // namespace

Result<void> append_events(core::EventStore& store, const std::vector<core::NewEvent>& events,
                           const Clock& clock) {
    if (events.empty()) return {};
    for (const auto& receipt : store.append(events, clock.system_now())) {
        if (!receipt) return fail(receipt.error());
    }
    return {};
}

Result<void> append_lost_requests(core::EventStore& store, std::vector<core::NewEvent> requests,
                                  SystemTime oldest, const Clock& clock) {
    if (requests.empty()) return {};
    const auto there = store.requests_since(oldest - kClockStep);
    if (!there) return fail(there.error());
    const std::set<std::string_view> kept(there->begin(), there->end());
    std::erase_if(requests, [&](const core::NewEvent& request) {
        return kept.contains(request.event.event_id);
    });
    return append_events(store, requests, clock);
}

}  // namespace crab::rtp
