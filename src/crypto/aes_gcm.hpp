#pragma once

#include "base/secret.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::crypto {

using AesKey = Secret<std::array<std::uint8_t, 32>>;
using AesGcmNonce = std::array<std::uint8_t, 12>;
inline constexpr std::size_t kAesGcmTagSize = 16;

/// AES-256-GCM (NIST SP 800-38D). Never reuse a nonce with a key. Returns the ciphertext followed
/// by the 16-byte tag.
std::string aes_gcm_seal(const AesKey& key, const AesGcmNonce& nonce,
                         std::string_view additional_data, std::string_view plaintext);
/// AES-128-GCM, the same otherwise (RFC 8188 has no other).
std::string aes_128_gcm_seal(const Secret<std::array<std::uint8_t, 16>>& key,
                             const AesGcmNonce& nonce, std::string_view plaintext);
/// The plaintext of aes_gcm_seal(); nothing when authentication fails. `sealed` is the ciphertext
/// followed by the tag.
std::optional<std::string> aes_gcm_open(const AesKey& key, const AesGcmNonce& nonce,
                                        std::string_view additional_data, std::string_view sealed);

}  // namespace crab::crypto
