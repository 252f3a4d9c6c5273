#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::console {

/// A passkey, beside the key that signs for it, which is kept and revoked like all keys.
struct StoredPasskey {
    std::string id;          ///< of its authenticator, base64url
    std::string credential;  ///< id of its key, which says whose it is
    std::string rp_id;       ///< host name that it is for
    std::string label;       ///< as its owner calls it
    std::uint32_t sign_count = 0;
    SystemTime created_at;
    std::optional<SystemTime> used_at;

    friend bool operator==(const StoredPasskey&, const StoredPasskey&) = default;
};

/// Store of passkeys; one for all nodes of a fleet. Every function may block and is atomic and
/// durable. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class PasskeyStore {
public:
    virtual ~PasskeyStore() = default;

    virtual Result<std::optional<StoredPasskey>> find(std::string_view id) = 0;
    /// The oldest first.
    virtual Result<std::vector<StoredPasskey>> list() = 0;
    /// Errors: kConflict for an id that is there.
    virtual Result<void> insert(const StoredPasskey& passkey) = 0;
    virtual Result<void> remove(std::string_view id) = 0;
    /// A use with that count. False, and nothing is stored: a count that is not above the one
    /// before, where either counts at all, or no such passkey.
    virtual Result<bool> record_use(std::string_view id, std::uint32_t sign_count,
                                    SystemTime at) = 0;
};

}  // namespace crab::console
