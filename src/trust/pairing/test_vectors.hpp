#pragma once

#include "base/encoding.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/key_text.hpp"
#include "crypto/x25519.hpp"
#include "trust/pairing/messages.hpp"

#include <numeric>
#include <string>
#include <string_view>

namespace crab::trust {

// The published inputs of docs/protocols/rtp.md, section 5.9.

template <std::size_t N = 32>
std::array<std::uint8_t, N> counting_from(std::uint8_t first) {
    std::array<std::uint8_t, N> bytes;
    std::iota(bytes.begin(), bytes.end(), first);
    return bytes;
}

inline const crypto::Ed25519Key kGatewayKey(Secret(counting_from(0x00)));
inline const crypto::Ed25519Key kRemoteKey(Secret(counting_from(0x20)));
inline const crypto::X25519Key kRemoteAgreementKey(Secret(counting_from(0x40)));
inline const crypto::X25519Key kEphemeralKey(Secret(counting_from(0x60)));
inline const std::string kPairingId = "000102030405060708090a0b0c0d0e0f";
inline const std::string kChallengeId = "101112131415161718191a1b1c1d1e1f";
inline const std::string kPlaintext = "oKGio6SlpqeoqaqrrK2ur7CxsrO0tba3uLm6u7y9vr8=";

inline std::string pem_block(std::string_view label, std::string_view body) {
    return "-----BEGIN " + std::string(label) + "-----\n" + std::string(body) + "\n-----END " +
           std::string(label) + "-----\n";
}

inline PairInit vector_1() {
    return {.pairing_id = kPairingId,
            .gateway_id = "gw_home",
            .public_key_ed25519 = kGatewayKey.public_key(),
            .nonce = *from_base64("gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaX"),
            .issued_at = *SignedTime::parse("2026-02-13T16:00:00.12Z")};
}
inline PairIdentity vector_2() {
    return {.pairing_id = kPairingId,
            .component_type = ComponentType::kToolHost,
            .component_id = "mem <east>&1",
            .public_key_ed25519 = kRemoteKey.public_key(),
            .public_key_x25519 = kRemoteAgreementKey.public_key(),
            .mtls_cert_fingerprint = ""};
}
inline PairChallengeResponse vector_4() {
    return {
        .pairing_id = kPairingId, .challenge_id = kChallengeId, .challenge_plaintext = kPlaintext};
}
inline PairCsrRequest vector_5() {
    return {.pairing_id = kPairingId, .csr_pem = pem_block("CERTIFICATE REQUEST", "abc")};
}
inline PairCsrIssued vector_6() {
    return {.pairing_id = kPairingId,
            .certificate_pem = pem_block("CERTIFICATE", "abc"),
            .certificate_chain_pem = {pem_block("CERTIFICATE", "ca")},
            .serial_number = "abc123",
            .mtls_cert_fingerprint = "sha256:00ff",
            .not_before = *SignedTime::parse("2026-02-13T15:55:00Z"),
            .not_after = *SignedTime::parse("2027-02-13T16:00:00Z")};
}
inline PairCsrInstalled vector_7() {
    return {.pairing_id = kPairingId, .mtls_cert_fingerprint = "sha256:00ff"};
}

}  // namespace crab::trust
