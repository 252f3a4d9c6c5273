#include "adapters/rtp/events/pairing_event.hpp"

#include "adapters/rtp/events/event_wire.hpp"

namespace crab::rtp {
namespace {

core::EventType type_of(PairingUpdate::Kind kind) {
    switch (kind) {
        case PairingUpdate::Kind::kStarted: return core::EventType::kPairingStarted;
        case PairingUpdate::Kind::kCompleted: return core::EventType::kPairingCompleted;
        case PairingUpdate::Kind::kFailed: return core::EventType::kPairingFailed;
    }
    return core::EventType::kPairingFailed;
}

}  // namespace

core::NewEvent pairing_event(const PairingUpdate& news, std::string_view event_id,
                             std::string_view gateway_id, SystemTime now) {
    core::NewEvent made;
    core::Event& event = made.event;
    event.type = type_of(news.kind);
    event.event_id = event_id;
    event.tenant = "system";
    event.agent_id = "gateway";
    event.session_id = news.pairing_id;
    begin_envelope(event, {.trace_id = news.pairing_id,
                           .gateway_id = gateway_id,
                           .transport = "unix_socket",
                           .occurred_at = now});
    json::Writer writer(event.envelope);
    append_pairing_payload(writer, news);
    event.envelope += '}';
    return made;
}

}  // namespace crab::rtp
