#pragma once

#include "crypto/aes_gcm.hpp"
#include "crypto/x25519.hpp"
#include "trust/pairing/pairing_error.hpp"

#include <string>
#include <string_view>

namespace crab::trust {

/// What pair.challenge carries, as bytes.
struct SealedChallenge {
    std::string ciphertext;  ///< 12-byte nonce, encrypted text, 16-byte tag
    std::string aad;         ///< compact JSON: both ids and the ephemeral public key
};

/// Encrypts `plaintext`, the text itself, so that only the holder of the key behind `remote` can
/// read it and only under these ids. Z = X25519(ephemeral, remote); key = SHA-256(Z, aad);
/// AES-256-GCM. `nonce` and `ephemeral` serve this one challenge. Errors: kChallengeFailed when Z
/// would be all zero. Source: docs/protocols/rtp.md, section 5.6.
PairingResult<SealedChallenge> seal_challenge(const crypto::X25519PublicKey& remote,
                                              std::string_view pairing_id,
                                              std::string_view challenge_id,
                                              std::string_view plaintext,
                                              const crypto::X25519Key& ephemeral,
                                              const crypto::AesGcmNonce& nonce);

/// The plaintext again. Errors: kChallengeFailed when `aad` is not JSON with these ids and a
/// 32-byte key, when Z would be all zero, when the ciphertext has less than 28 bytes or any bit of
/// it is not what was sealed.
PairingResult<std::string> open_challenge(const crypto::X25519Key& key, std::string_view pairing_id,
                                          std::string_view challenge_id,
                                          const SealedChallenge& challenge);

}  // namespace crab::trust
