#pragma once

#include "core/approvals/approval.hpp"
#include "core/events/event_store.hpp"

#include <string_view>

namespace crab::rtp {

/// The event for a requested approval (`end` null: `approval.requested`) or its end
/// (`approval.decided`), without the call's arguments. Tenant, agent and session are the call's. An
/// extension of docs/protocols/rtp.md, section 9, seen by operators only.
core::NewEvent approval_event(const core::ApprovalQuestion& question, const core::ApprovalEnd* end,
                              std::string_view event_id, std::string_view gateway_id,
                              SystemTime now);

}  // namespace crab::rtp
