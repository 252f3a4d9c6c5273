#include "trust/pairing/challenge_cipher.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "crypto/key_text.hpp"
#include "json/value.hpp"
#include "trust/pairing/canonical_writer.hpp"

#include <algorithm>

namespace crab::trust {
namespace {

constexpr std::string_view kPairingId = "pairing_id";
constexpr std::string_view kChallengeId = "challenge_id";
constexpr std::string_view kEphemeralKey = "ephemeral_public_key_x25519";

std::unexpected<PairingError> failed(std::string message) {
    return refuse(PairingCode::kChallengeFailed, std::move(message));
}

crypto::AesKey key_from(const crypto::X25519SharedSecret& shared, std::string_view aad) {
    return crypto::AesKey(crypto::Sha256().update(shared.reveal()).update(aad).finish());
}

}  // namespace

PairingResult<SealedChallenge> seal_challenge(const crypto::X25519PublicKey& remote,
                                              std::string_view pairing_id,
                                              std::string_view challenge_id,
                                              std::string_view plaintext,
                                              const crypto::X25519Key& ephemeral,
                                              const crypto::AesGcmNonce& nonce) {
    const auto shared = ephemeral.agree(remote);
    if (!shared) return failed("the remote's X25519 key is of small order");
    CanonicalWriter aad;
    aad.text(kPairingId, pairing_id)
        .text(kChallengeId, challenge_id)
        .text(kEphemeralKey, to_base64(ephemeral.public_key()));
    SealedChallenge sealed;
    sealed.aad = std::move(aad).take();
    sealed.ciphertext.assign(nonce.begin(), nonce.end());
    sealed.ciphertext +=
        crypto::aes_gcm_seal(key_from(*shared, sealed.aad), nonce, sealed.aad, plaintext);
    return sealed;
}

PairingResult<std::string> open_challenge(const crypto::X25519Key& key, std::string_view pairing_id,
                                          std::string_view challenge_id,
                                          const SealedChallenge& challenge) {
    const auto aad = json::Value::parse(challenge.aad);
    if (!aad || !aad->is_object())
        return failed("the challenge's additional data is not a JSON object");
    const auto member = [&](std::string_view name) {
        const json::Value* const value = aad->find(name);
        const std::string* const text = value == nullptr ? nullptr : value->as_string();
        return text == nullptr ? std::string_view() : std::string_view(*text);
    };
    if (member(kPairingId) != pairing_id || member(kChallengeId) != challenge_id)
        return failed("the challenge's additional data names other ids");
    const auto ephemeral = crypto::from_base64_exact<32>(member(kEphemeralKey));
    if (!ephemeral) return failed("the challenge's ephemeral key is not 32 bytes in base64");
    const auto shared = key.agree(*ephemeral);
    if (!shared) return failed("the challenge's ephemeral key is of small order");
    crypto::AesGcmNonce nonce;
    if (challenge.ciphertext.size() < nonce.size() + crypto::kAesGcmTagSize)
        return failed("the challenge is shorter than a nonce and a tag");
    std::copy_n(challenge.ciphertext.begin(), nonce.size(), nonce.begin());
    const std::string_view sealed = std::string_view(challenge.ciphertext).substr(nonce.size());
    auto plaintext =
        crypto::aes_gcm_open(key_from(*shared, challenge.aad), nonce, challenge.aad, sealed);
    if (!plaintext) return failed("the challenge cannot be decrypted with this remote's key");
    return std::move(*plaintext);
}

}  // namespace crab::trust
