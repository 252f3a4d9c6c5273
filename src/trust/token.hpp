#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "core/principal.hpp"

#include <optional>
#include <string>

namespace crab::trust {

/// What is kept about a bearer token. The token itself is 64 lower-case hexadecimal characters (32 random bytes) and is kept
/// nowhere.
struct TokenRecord {
    std::string id;                            ///< 8 hexadecimal characters, safe to show and to log
    std::string hash_hex;                      ///< SHA-256 of the token's characters
    std::string name;                          ///< as the operator gave it
    std::string device;                        ///< slug of its device record, or empty
    core::Roles roles;
    TenantId tenant;                           ///< empty: may act for any tenant
    SystemTime created_at;
    std::optional<SystemTime> expires_at;      ///< absent: only revocation ends it
    std::optional<SystemTime> revoked_at;
    std::optional<SystemTime> last_used_at;    ///< may lag behind by a flush

    /// Whether it lets anybody in at `now`.
    bool is_live(SystemTime now) const { return !revoked_at && (!expires_at || now < *expires_at); }
};

}  // namespace crab::trust
