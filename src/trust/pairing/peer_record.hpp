#pragma once

#include "base/clock.hpp"
#include "crypto/digest.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/x25519.hpp"
#include "trust/pairing/peer_name.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

/// Only `active` is used. Source: docs/protocols/rtp.md, section 6.
enum class PeerStatus : std::uint8_t {
    kPending,   ///< a first pairing that has not been finished
    kActive,
    kInactive,  ///< put aside by the operator, or a test
    kRevoked,   ///< permanently
};

std::string_view to_text(PeerStatus status);
std::optional<PeerStatus> find_peer_status(std::string_view text);

/// A remote that is known through pairing; one record per name.
struct PeerRecord {
    PeerName name;
    std::string endpoint;               ///< PairingEndpoint::text()
    crypto::Ed25519PublicKey public_key_ed25519{};
    crypto::X25519PublicKey public_key_x25519{};
    std::string mtls_cert_fingerprint;  ///< the pin, in lower case
    std::string serial_number;          ///< of the pinned certificate
    SystemTime not_after;               ///< of the pinned certificate
    std::string pairing_id;             ///< of the handshake that pinned it
    SystemTime paired_at;
    std::optional<SystemTime> last_seen_at;
    PeerStatus status = PeerStatus::kPending;
    /// Overrides the address of tool requests; empty: the endpoint's authority
    std::string tool_url;

    friend bool operator==(const PeerRecord&, const PeerRecord&) = default;
};

enum class CertificateState : std::uint8_t {
    kIssued,   ///< sent to the remote, which has not said that it is installed
    kCurrent,  ///< the pin of its peer
    kRetired,  ///< followed by another one, or never installed
    kRevoked,
};

std::string_view to_text(CertificateState state);
std::optional<CertificateState> find_certificate_state(std::string_view text);

/// Every certificate that was issued to a peer stays known, so that no serial and no key comes
/// back.
struct PeerCertificate {
    std::string serial_number;
    std::string fingerprint;
    PeerName name;
    std::string pairing_id;
    crypto::Sha256Digest key_digest{};  ///< of the public key's DER
    std::string certificate_pem;
    SystemTime not_before, not_after, issued_at;
    /// The pin that the remote proved in this handshake, which this certificate follows; else empty
    std::string renews;
    CertificateState state = CertificateState::kIssued;
    std::optional<SystemTime> revoked_at;
    std::string revoke_reason;  ///< the operator's; `replaced` after `--replace`

    friend bool operator==(const PeerCertificate&, const PeerCertificate&) = default;
};

}  // namespace crab::trust
