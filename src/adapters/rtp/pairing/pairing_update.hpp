#pragma once

#include "json/writer.hpp"
#include "trust/pairing/pairing_error.hpp"
#include "trust/pairing/peer_record.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace crab::rtp {

/// Who started a pairing.
enum class PairingInitiator : std::uint8_t { kAdminSocket, kRenewal };
std::string_view to_text(PairingInitiator initiator);

/// A step of a pairing: one kStarted, then one of the others. Source: docs/protocols/rtp.md,
/// section 9.
struct PairingUpdate {
    enum class Kind : std::uint8_t { kStarted, kCompleted, kFailed };

    Kind kind = Kind::kStarted;
    std::string pairing_id;
    std::string remote_uri;                      ///< the endpoint
    PairingInitiator initiator = PairingInitiator::kAdminSocket;
    trust::PeerName remote;                      ///< as requested
    std::optional<trust::PeerRecord> peer;       ///< kCompleted
    std::optional<trust::PairingError> error;    ///< kFailed
};
using PairingObserver = std::function<void(const PairingUpdate&)>;

/// The event's type, such as `pairing.completed`.
std::string_view event_type_of(PairingUpdate::Kind kind);
/// The payload of that event, an object.
void append_pairing_payload(json::Writer& writer, const PairingUpdate& news);

}  // namespace crab::rtp
