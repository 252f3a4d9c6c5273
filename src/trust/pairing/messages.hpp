#pragma once

#include "crypto/ed25519.hpp"
#include "crypto/x25519.hpp"
#include "trust/pairing/pairing_error.hpp"
#include "trust/pairing/peer_name.hpp"
#include "trust/pairing/signed_time.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

// The messages of a pairing, in the order in which they are sent. What wires carry as base64 is
// bytes here: the text form is strict, so the same bytes are signed again. Source:
// docs/protocols/rtp.md, sections 5.2 and 5.3.

inline constexpr std::string_view kPairingVersion = "v1";
inline constexpr std::size_t kMostMessageBytes = 65'536;

/// 1, from the gateway.
struct PairInit {
    static constexpr std::string_view kType = "pair.init";
    std::string pairing_id;
    std::string gateway_id;
    crypto::Ed25519PublicKey public_key_ed25519{};
    std::string nonce;
    SignedTime issued_at;
    crypto::Ed25519Signature signature{};
};

/// 2, from the remote. `component_id` is as the remote says it, be it legal or not.
struct PairIdentity {
    static constexpr std::string_view kType = "pair.identity";
    std::string pairing_id;
    ComponentType component_type = ComponentType::kToolHost;
    std::string component_id;
    crypto::Ed25519PublicKey public_key_ed25519{};
    crypto::X25519PublicKey public_key_x25519{};
    std::string mtls_cert_fingerprint;  ///< may be empty over `ws`
    crypto::Ed25519Signature signature{};
};

/// 3, from the gateway, not signed.
struct PairChallenge {
    static constexpr std::string_view kType = "pair.challenge";
    std::string pairing_id;
    std::string challenge_id;
    std::string ciphertext;
    std::string aad;
};

/// 4, from the remote.
struct PairChallengeResponse {
    static constexpr std::string_view kType = "pair.challenge_response";
    std::string pairing_id;
    std::string challenge_id;
    std::string challenge_plaintext;
    crypto::Ed25519Signature signature{};
};

/// 5, from the remote, right after 4.
struct PairCsrRequest {
    static constexpr std::string_view kType = "pair.csr_request";
    std::string pairing_id;
    std::string csr_pem;
    crypto::Ed25519Signature signature{};
};

/// 6, from the gateway.
struct PairCsrIssued {
    static constexpr std::string_view kType = "pair.csr_issued";
    std::string pairing_id;
    std::string certificate_pem;
    std::vector<std::string> certificate_chain_pem;
    std::string serial_number;
    std::string mtls_cert_fingerprint;
    SignedTime not_before;
    SignedTime not_after;
    crypto::Ed25519Signature signature{};
};

/// 7, from the remote.
struct PairCsrInstalled {
    static constexpr std::string_view kType = "pair.csr_installed";
    std::string pairing_id;
    std::string mtls_cert_fingerprint;
    crypto::Ed25519Signature signature{};
};

/// 8, from the gateway, not signed.
struct PairComplete {
    static constexpr std::string_view kType = "pair.complete";
    std::string pairing_id;
    std::string status = "ok";
};

/// Instead of any other, from either side, not signed; ends the handshake.
struct PairError {
    static constexpr std::string_view kType = "pair.error";
    std::string pairing_id;  ///< may be empty
    std::string code;
    std::string message;
};

/// The bytes that are signed, byte for byte the same on both sides. Source: docs/protocols/rtp.md,
/// section 5.4.
std::string signed_bytes(const PairInit& message);
std::string signed_bytes(const PairIdentity& message);
std::string signed_bytes(const PairChallengeResponse& message);
std::string signed_bytes(const PairCsrRequest& message);
std::string signed_bytes(const PairCsrIssued& message);
std::string signed_bytes(const PairCsrInstalled& message);

template <class Message>
Message signed_by(const crypto::Ed25519Key& key, Message message) {
    message.signature = key.sign(signed_bytes(message));
    return message;
}
template <class Message>
bool is_signed_by(const crypto::Ed25519PublicKey& key, const Message& message) {
    return crypto::ed25519_verify(key, signed_bytes(message), message.signature);
}

/// The message as it is sent: one JSON object, no newline.
std::string to_wire(const PairInit& message);
std::string to_wire(const PairIdentity& message);
std::string to_wire(const PairChallenge& message);
std::string to_wire(const PairChallengeResponse& message);
std::string to_wire(const PairCsrRequest& message);
std::string to_wire(const PairCsrIssued& message);
std::string to_wire(const PairCsrInstalled& message);
std::string to_wire(const PairComplete& message);
std::string to_wire(const PairError& message);

}  // namespace crab::trust
