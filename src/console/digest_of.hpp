#pragma once

#include "base/base64url.hpp"
#include "base/secret.hpp"
#include "crypto/digest.hpp"
#include "crypto/random_source.hpp"

#include <string>
#include <string_view>

namespace crab::console {

/// 43 characters of base64url that cannot be guessed.
inline Secret<std::string> draw_secret(crypto::RandomSource& random) {
    const auto bytes = random.bytes<32>();
    return Secret(to_base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

/// What is longer than this is no secret of ours, and is not digested.
constexpr std::size_t kMostSecretBytes = 64;

inline bool is_digest_of(const crypto::Sha256Digest& digest, std::string_view brought) {
    return brought.size() <= kMostSecretBytes &&
           crypto::constant_time_equal(digest, crypto::sha256(brought));
}

}  // namespace crab::console
