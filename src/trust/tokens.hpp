#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"
#include "core/call/principal.hpp"
#include "crypto/digest.hpp"
#include "trust/shared_credentials.hpp"
#include "trust/token_store.hpp"

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::trust {

struct IssueRequest {
    std::string name;  ///< of a display name (json/display_name.hpp); the slug comes from it
    core::Roles roles{core::Role::kDevice};
    /// That it may act for, the first by default; empty: the default tenant
    std::vector<TenantId> tenants{};
    std::optional<Milliseconds> lifetime;  ///< absent: until revoked
    std::string device;  ///< slug of a known device that gets a further token; empty: a new one
    std::string public_key{};  ///< DER: a key that the device holds, in place of a bearer token
    bool for_console = false;  ///< the key is a browser's, whose person signs in with it
};

/// What the holder of a key gets for a signature.
struct KeySession {
    /// A bearer token that ends with the key, at `expires_at`, and, if it is not shared with other
    /// nodes, with the process
    Secret<std::string> token;
    SystemTime expires_at;
};

/// Whom a credential proves, and until when it is good; nothing: until it is revoked.
struct Proven {
    core::PrincipalRef principal;
    std::optional<SystemTime> good_until;
};

struct IssuedToken {
    Secret<std::string> token;  ///< the only copy; empty for a key
    TokenRecord record;
    std::string slug;  ///< of the device, or of the caller in `caller/<slug>`
};

/// The bearer tokens of this gateway. A token with the role `device` belongs to a device record and
/// acts as `device/<slug>`; any other acts as `caller/<slug of its name>`, so that a caller's
/// tokens of one name are one principal, and those of two names never are. Thread-safe.
/// prove() and epoch() never touch the store; the others may block on it, one at a
/// time.
class Tokens {
public:
    /// Reads the store once. In one of before callers had stored slugs, a name keeps its principal;
    /// of several names that shared one, that with a live token does, then the oldest, and the
    /// others get new ones. Errors: those of the store; kInternal for a record that makes no sense.
    static Result<std::unique_ptr<Tokens>> load(TokenStore& store, const Clock& clock);
    /// Sessions of keys are good at all nodes of a fleet; open_session() blocks then. Once, after
    /// load(); `shared` outlives this. Errors: those of the store.
    Result<void> share_sessions(SharedCredentials& shared);

    /// Authenticates `token`: the same principal's pointer for the same token for the lifetime of
    /// the process, and until when: a session of a key ends by its own expiry. Whoever remembers it
    /// asks a CredentialCache. Errors: kUnauthenticated, with advice.
    Result<Proven> prove(std::string_view token);
    /// Changes with every revocation, and when a session of a key is put out by a newer one. Read
    /// it before prove(); while it stays the same, the principal is good until then.
    std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

    /// Whether issue() would make a token for this. Errors: kInvalidArgs; kNotFound for an unknown
    /// device; kConflict for a caller's name whose principal another name has, or a key that is
    /// paired.
    Result<void> check(const IssueRequest& request) const;
    /// Makes a token, and a device record if the roles hold `device` and no known device is named.
    /// Errors: those of check(); those of the store, and then there is no token.
    Result<IssuedToken> issue(const IssueRequest& request);
    /// The key of that id, DER. Errors: kUnauthenticated for one that is unknown, revoked or
    /// expired, and for a bearer token's id.
    Result<std::string> find_key(std::string_view id) const;
    /// Whose credential that is, token or key, which was proven in another way. Errors:
    /// kUnauthenticated for one that is unknown, revoked or expired.
    Result<Proven> find_credential(std::string_view id) const;
    /// A bearer token for the holder of that key, which was proven just now. Of one key the latest
    /// kSessionsPerKey are good. Errors: those of find_key().
    Result<KeySession> open_session(std::string_view key_id);  // those of a store, if shared
    static constexpr std::size_t kSessionsPerKey = 32;
    static constexpr std::chrono::hours kSessionLifetime{24};

    /// Ends the tokens of one device or caller, and returns how many were still good. It is named
    /// by its principal (`caller/ci`), by the slug of a device, by a caller's name or slug, or by
    /// the id of one token. They are refused from here on even if the store fails. Errors:
    /// kNotFound; kConflict when the name means several, which are listed; those of the store:
    /// repeat it, or they return with a restart.
    Result<int> revoke(std::string_view name);
    /// The same for one token, by its id alone.
    Result<int> revoke_token(std::string_view id);
    /// Calls back with the id of each token that is revoked from now on, on the thread that
    /// revokes, for the lifetime of *this. The callback only posts to the connections' owners: it
    /// must not call issue(), revoke() or flush().
    void on_revoked(std::function<void(const std::string& credential_id)> callback);

    /// Gives a device another display name; its slug and all that goes by it stay. Returns its
    /// record. Errors: kNotFound; kInvalidArgs for a name that no device can have; those of the
    /// store.
    Result<DeviceRecord> rename(std::string_view device, std::string_view given);
    /// All tokens, oldest first, revoked and expired ones included.
    std::vector<TokenRecord> list() const;
    /// All devices by slug.
    std::vector<DeviceRecord> devices() const;
    /// Updates last_seen: a connection with this credential has ended.
    void seen(const std::string& credential_id);
    /// Takes from the store what other gateways have written there: tokens and devices that are
    /// new, sessions, names, and revocations, which are told as those of revoke(). Errors: those of
    /// the store.
    Result<void> refresh();
    /// The same for sessions alone.
    Result<void> refresh_sessions();
    /// Somebody whose word counts says that these were revoked.
    void take_revoked(std::span<const std::string> ids);
    /// While it is true nobody is proven: it is not known who was revoked meanwhile.
    void set_cut_off(bool cut_off);
    bool is_cut_off() const { return cut_off_.load(std::memory_order_acquire); }
    /// Stores the last-used times since the last flush. Call it periodically and at shutdown.
    Result<void> flush();

private:
    struct Entry {
        TokenRecord record;  ///< guarded by index_mutex_, except what never changes
        core::PrincipalRef principal;
        std::atomic<std::int64_t> last_used_ms{0};  ///< Unix time; 0: not since the last flush
        std::deque<crypto::Sha256Digest> sessions;  ///< of a key, oldest first
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
    Result<void> name_callers(std::vector<TokenRecord>& records);
    std::optional<std::string> caller_named(std::string_view name) const;
    std::optional<std::string> name_of_caller(std::string_view slug) const;
    Result<int> end(std::string_view name, const std::vector<EntryRef>& meant);
    Result<IssuedToken> issue_once(const IssueRequest& request);
    Result<void> refresh_tokens();
    Result<void> read_sessions();
    void add_session(const EntryRef& key, const crypto::Sha256Digest& digest, SystemTime until);
    void tell_revoked(std::span<const std::string> ids);
    std::string unused_id() const;
    TokenRecord shown(const Entry& entry) const;

    TokenStore& store_;
    const Clock& clock_;
    SharedCredentials* shared_ = nullptr;
    std::atomic<std::uint64_t> epoch_{1};
    std::atomic<bool> cut_off_{false};
    /// Taken before index_mutex_, held across the store's work.
    OrderedMutex<LockRank::kTokensWriting> writing_;
    /// Never held across the store's work.
    mutable OrderedSharedMutex<LockRank::kTokens> index_mutex_;
    std::unordered_map<crypto::Sha256Digest, EntryRef, DigestHash> by_hash_;
    std::unordered_map<std::string, EntryRef> by_id_;
    std::unordered_map<crypto::Sha256Digest, Session, DigestHash> sessions_;  ///< of keys
    std::unordered_map<std::string, DeviceRecord> devices_;
    std::vector<std::function<void(const std::string&)>> callbacks_;
};

}  // namespace crab::trust
