#pragma once

#include "admin/approval_feed.hpp"
#include "admin/live/live_wire.hpp"
#include "core/approvals/approvals.hpp"
#include "core/events/event_outbox.hpp"
#include "core/live/call_feed.hpp"
#include "trust/pairing_codes.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace crab::admin {

/// What live data is made of. The functions are called on the admin socket's event loop.
struct LiveSources {
    core::CallFeed& calls;
    core::Approvals& approvals;
    ApprovalFeed& questions;
    core::EventOutbox& events;
    std::function<std::uint64_t()> unrecorded_calls;  ///< since the start; see AuditLog
    std::function<std::uint64_t()> tools_generation;
    std::function<RunningSummary()> running;
    /// Shared by all streams of a moment
    std::function<std::shared_ptr<const DeviceRows>()> devices;
    std::function<std::vector<trust::PairingProgress>()> pairings;
    std::function<std::string()> status;  ///< JSON
    std::string version;
};

}  // namespace crab::admin
