#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "core/call/principal.hpp"

#include <optional>
#include <string>
#include <vector>

namespace crab::trust {

/// What is kept about a credential: a bearer token, which is 64 lower-case hexadecimal characters
/// (32 random bytes) and is kept nowhere, or a device's key, whose owner gets bearer tokens that
/// live as long as the process by signing (device_keys.hpp).
struct TokenRecord {
    std::string id;  ///< 8 hexadecimal characters, safe to show and to log
    std::string hash_hex;  ///< SHA-256 of the token's characters, or of the key
    std::string name;  ///< as the operator gave it
    std::string device;  ///< slug of its device record, or empty
    /// Without a device: slug of its principal; of one name always the same, of two never
    std::string caller{};
    core::Roles roles;
    /// That it may act for, at least one; the first is that of calls that name none
    std::vector<TenantId> tenants;
    SystemTime created_at;
    std::optional<SystemTime> expires_at;  ///< absent: only revocation ends it
    std::optional<SystemTime> revoked_at;
    std::optional<SystemTime> last_used_at;  ///< may lag behind by a flush
    std::string public_key;  ///< DER of the SubjectPublicKeyInfo; empty for a bearer token

    /// Whether it lets anybody in at `now`.
    bool is_live(SystemTime now) const { return !revoked_at && (!expires_at || now < *expires_at); }
    std::string principal_id() const {
        return device.empty() ? "caller/" + caller : "device/" + device;
    }
};

}  // namespace crab::trust
