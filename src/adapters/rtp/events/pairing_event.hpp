#pragma once

#include "adapters/rtp/pairing/pairing_update.hpp"
#include "core/events/event_store.hpp"

#include <string_view>

namespace crab::rtp {

/// The event for a step of a pairing: tenant `system`, agent `gateway`, the pairing id as session.
/// Source: docs/protocols/rtp.md, section 9.
core::NewEvent pairing_event(const PairingUpdate& news, std::string_view event_id,
                             std::string_view gateway_id, SystemTime now);

}  // namespace crab::rtp
