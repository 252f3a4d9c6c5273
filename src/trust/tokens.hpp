#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "core/principal.hpp"
#include "crypto/digest.hpp"
#include "trust/token_store.hpp"

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::trust {

struct IssueRequest {
    std::string name;                          ///< 1-128 bytes without control characters; the slug comes from it
    core::Roles roles{core::Role::kDevice, core::Role::kCaller};
    TenantId tenant;
    std::optional<Milliseconds> lifetime;      ///< absent: until revoked
    std::string device;                        ///< slug of a known device that gets a further token; empty: a new one
    std::string public_key{};                  ///< DER: a key that the device holds, in place of a bearer token
};

/// What the holder of a key gets for a signature.
struct KeySession {
    Secret<std::string> token;                 ///< a bearer token that ends with the key, with the process, and at `expires_at`
    SystemTime expires_at;
};

struct IssuedToken {
    Secret<std::string> token;                 ///< the only copy; empty for a key
    TokenRecord record;
    std::string slug;                          ///< of the device, or of the caller in `caller/<slug>`
};

/// The bearer tokens of this gateway. A token with the role `device` belongs to a device record and acts as `device/<slug>`;
/// any other acts as `caller/<slug of its name>`, so that a caller's tokens of one name are one principal.
/// Thread-safe. authenticate(), epoch() and expires_at() never touch the store; the others may block on it, one at a time.
class Tokens {
public:
    /// Reads the store once. Errors: those of the store; kInternal for a record that makes no sense.
    static Result<std::unique_ptr<Tokens>> load(TokenStore& store, const Clock& clock);

    /// Who the bearer of `token` is: the same pointer for the same token for the life of the process.
    /// Errors: kUnauthenticated, with what to do about it.
    Result<core::PrincipalRef> authenticate(std::string_view token);
    /// Changes with every revocation. Read it before authenticate(); while it stays the same, the principal is good until
    /// it expires.
    std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
    /// When the credential behind `principal` expires; nothing if it never does or is not a token.
    std::optional<SystemTime> expires_at(const core::Principal& principal) const;

    /// Makes a token, and a device record if the roles hold `device` and no known device is named.
    /// Errors: kInvalidArgs; kNotFound for an unknown device; those of the store, and then there is no token.
    Result<IssuedToken> issue(const IssueRequest& request);
    /// The key of that id, DER. Errors: kUnauthenticated for one that is unknown, revoked or expired, and for a bearer token's id.
    Result<std::string> find_key(std::string_view id) const;
    /// A bearer token for the holder of that key, which was proven just now. Of one key the latest kSessionsPerKey are good.
    /// Errors: those of find_key().
    Result<KeySession> open_session(std::string_view key_id);
    static constexpr std::size_t kSessionsPerKey = 32;
    static constexpr std::chrono::hours kSessionLifetime{24};

    /// Ends the tokens of a device (by slug), of a caller (by name) or one token (by id), and returns how many were still good. They are refused
    /// from here on even if the store fails. Errors: kNotFound; those of the store: repeat it, or they return with a restart.
    Result<int> revoke(std::string_view device_or_token_id);
    /// Calls back with the id of each token that is revoked from now on, on the thread that revokes,
    /// for the life of *this. The callback only posts to the connections' owners: it must not call issue(), revoke() or flush().
    void on_revoked(std::function<void(const std::string& credential_id)> callback);

    /// All tokens, oldest first, revoked and expired ones included.
    std::vector<TokenRecord> list() const;
    /// All devices by slug.
    std::vector<DeviceRecord> devices() const;
    /// Whoever holds this credential was there until now: its connection has ended.
    void seen(const std::string& credential_id);
    /// Stores when tokens were used since the last flush. Call it now and then, and before the end.
    Result<void> flush();

private:
    struct Entry {
        TokenRecord record;                        ///< guarded by index_mutex_, except what never changes
        core::PrincipalRef principal;
        std::atomic<std::int64_t> last_used_ms{0}; ///< Unix time; 0: not since the last flush
        std::deque<crypto::Sha256Digest> sessions; ///< of a key, oldest first
    };
    using EntryRef = std::shared_ptr<Entry>;
    struct Session {
        EntryRef key;
        SystemTime expires_at;
    };
    /// The hash is uniform already: any eight bytes of it do.
    struct DigestHash {
        std::size_t operator()(const crypto::Sha256Digest& digest) const {
            std::size_t bytes;
            std::memcpy(&bytes, digest.data(), sizeof bytes);
            return bytes;
        }
    };

    Tokens(TokenStore& store, const Clock& clock) : store_(store), clock_(clock) {}
    Result<void> add(TokenRecord record);
    std::string unused_id() const;
    TokenRecord shown(const Entry& entry) const;

    TokenStore& store_;
    const Clock& clock_;
    std::atomic<std::uint64_t> epoch_{1};
    std::mutex writing_;                           ///< taken before index_mutex_, held across the store's work
    mutable std::shared_mutex index_mutex_;        ///< never held across the store's work
    std::unordered_map<crypto::Sha256Digest, EntryRef, DigestHash> by_hash_;
    std::unordered_map<std::string, EntryRef> by_id_;
    std::unordered_map<crypto::Sha256Digest, Session, DigestHash> sessions_;   ///< of keys
    std::unordered_map<std::string, DeviceRecord> devices_;
    std::vector<std::function<void(const std::string&)>> callbacks_;
};

}  // namespace crab::trust
