#include "adapters/rtp/pairing/pairing_update.hpp"

#include "base/encoding.hpp"

namespace crab::rtp {

std::string_view to_text(PairingInitiator initiator) {
    switch (initiator) {
        case PairingInitiator::kAdminSocket: return "admin_socket";
        case PairingInitiator::kRenewal: return "renewal";
    }
    return {};
}

std::string_view event_type_of(PairingUpdate::Kind kind) {
    switch (kind) {
        case PairingUpdate::Kind::kStarted: return "pairing.started";
        case PairingUpdate::Kind::kCompleted: return "pairing.completed";
        case PairingUpdate::Kind::kFailed: return "pairing.failed";
    }
    return {};
}

void append_pairing_payload(json::Writer& writer, const PairingUpdate& news) {
    writer.begin_object().key("pairing_id").string(news.pairing_id);
    switch (news.kind) {
        case PairingUpdate::Kind::kStarted:
            writer.key("remote_uri")
                .string_lossy(news.remote_uri)
                .key("initiated_via")
                .string(to_text(news.initiator));
            writer.key("remote_component_type").string(to_text(news.remote.type));
            break;
        case PairingUpdate::Kind::kCompleted:
            writer.key("remote_component_id")
                .string(news.peer->name.id)
                .key("remote_component_type")
                .string(to_text(news.peer->name.type));
            writer.key("remote_public_key_ed25519")
                .string(to_base64(news.peer->public_key_ed25519));
            writer.key("remote_public_key_x25519").string(to_base64(news.peer->public_key_x25519));
            writer.key("mtls_cert_fingerprint").string(news.peer->mtls_cert_fingerprint);
            break;
        case PairingUpdate::Kind::kFailed:
            writer.key("remote_uri")
                .string_lossy(news.remote_uri)
                .key("initiated_via")
                .string(to_text(news.initiator));
            writer.key("error_code")
                .string(token_of(news.error->code))
                .key("error_message")
                .string_lossy(news.error->message);
            break;
    }
    writer.end_object();
}

}  // namespace crab::rtp
