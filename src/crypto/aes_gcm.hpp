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

/// AES-256-GCM (NIST SP 800-38D). A nonce serves one text per key, ever. Returns the ciphertext and
/// then the 16-byte tag.
std::string aes_gcm_seal(const AesKey& key, const AesGcmNonce& nonce,
                         std::string_view additional_data, std::string_view plaintext);
/// The plaintext; nothing when key, nonce, additional data or any bit of `sealed` (ciphertext, then
/// tag) is not the sealer's.
std::optional<std::string> aes_gcm_open(const AesKey& key, const AesGcmNonce& nonce,
                                        std::string_view additional_data, std::string_view sealed);

}  // namespace crab::crypto
