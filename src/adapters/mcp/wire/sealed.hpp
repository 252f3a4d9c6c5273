#pragma once

#include "base/clock.hpp"
#include "crypto/aes_gcm.hpp"
#include "crypto/random_source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// What a sealed string is for; one that was sealed for another purpose does not open.
enum class SealedFor : std::uint8_t { kCursor, kRequestState };

/// Texts that a client keeps for the gateway and can neither read nor change: cursors and
/// `requestState`. AES-256-GCM with a random nonce, base64url without padding; the purpose and what
/// the string is bound to (principal, method, …) are authenticated with it. Any number of threads.
/// Source: docs/protocols/mcp.md, head, 4.5, 4.8.
class Sealer {
public:
    /// `key`: of the gateway, kept over restarts if its strings shall outlive them; used for
    /// nothing else. `random` and `clock` outlive the sealer; `random` may be used by several
    /// threads.
    Sealer(crypto::AesKey key, crypto::RandomSource& random, const Clock& clock)
        : key_(std::move(key)), random_(random), clock_(clock) {}

    std::string seal(SealedFor purpose, std::string_view bound_to, std::string_view text,
                     Milliseconds lifetime) const;
    /// The text; nothing for one that is changed, foreign, bound to something else, or past its
    /// lifetime: who asks with it is told no more than that.
    std::optional<std::string> open(SealedFor purpose, std::string_view bound_to,
                                    std::string_view sealed) const;

private:
    crypto::AesKey key_;
    crypto::RandomSource& random_;
    const Clock& clock_;
};

}  // namespace crab::mcp
