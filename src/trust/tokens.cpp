#include "trust/tokens.hpp"

#include "base/encoding.hpp"
#include "base/log.hpp"
#include "crypto/random.hpp"
#include "trust/slug.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace crab::trust {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kIdBytes = 4;
constexpr std::size_t kMaxNameSize = 128;

bool is_token(std::string_view text) {
    return text.size() == 2 * kTokenBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_display_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxNameSize &&
           std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string caller_slug(std::string_view name) {
    return make_slug(name, "caller");
}

core::PrincipalRef principal_of(const TokenRecord& record) {
    core::Principal principal;
    principal.id = record.device.empty() ? "caller/" + caller_slug(record.name) : "device/" + record.device;
    principal.tenant = record.tenant;
    principal.roles = record.roles;
    principal.proof = record.public_key.empty() ? core::Proof::kBearerToken : core::Proof::kDeviceKey;
    principal.device = record.device;
    principal.credential_id = record.id;
    return std::make_shared<const core::Principal>(std::move(principal));
}

}  // namespace

Result<std::unique_ptr<Tokens>> Tokens::load(TokenStore& store, const Clock& clock) {
    auto contents = store.load_all();
    if (!contents) return fail(std::move(contents.error()));
    std::unique_ptr<Tokens> tokens(new Tokens(store, clock));
    for (DeviceRecord& device : contents->devices) {
        std::string slug = device.slug;
        tokens->devices_.emplace(std::move(slug), std::move(device));
    }
    for (TokenRecord& record : contents->tokens) {
        if (const auto added = tokens->add(std::move(record)); !added) return fail(added.error());
    }
    return tokens;
}

/// The caller holds index_mutex_, or is the only one to know *this.
Result<void> Tokens::add(TokenRecord record) {
    const auto bytes = from_hex(record.hash_hex);
    crypto::Sha256Digest digest;
    if (!bytes || bytes->size() != digest.size()) {
        return fail(ErrorCode::kInternal, "token " + record.id + " is stored without a proper hash: restore the token store from a backup");
    }
    std::memcpy(digest.data(), bytes->data(), digest.size());
    auto entry = std::make_shared<Entry>();
    entry->principal = principal_of(record);
    entry->record = std::move(record);
    by_id_.emplace(entry->record.id, entry);
    by_hash_.emplace(digest, std::move(entry));
    return {};
}

Result<core::PrincipalRef> Tokens::authenticate(std::string_view token) {
    if (!is_token(token)) {
        return fail(ErrorCode::kUnauthenticated, "the bearer token is malformed: send the 64 characters that pairing gave out");
    }
    const crypto::Sha256Digest digest = crypto::sha256(token);
    const SystemTime now = clock_.system_now();
    const std::shared_lock lock(index_mutex_);
    const auto session = sessions_.find(digest);
    if (session != sessions_.end() && session->second.expires_at <= now) {
        return fail(ErrorCode::kUnauthenticated, "the bearer token has expired: sign a new challenge");
    }
    const auto found = by_hash_.find(digest);
    if (session == sessions_.end() && (found == by_hash_.end() || !found->second->record.public_key.empty())) {
        return fail(ErrorCode::kUnauthenticated, "the bearer token is unknown here: pair with this gateway");
    }
    Entry& entry = session != sessions_.end() ? *session->second.key : *found->second;
    if (entry.record.revoked_at) return fail(ErrorCode::kUnauthenticated, "the bearer token was revoked: pair again");
    if (!entry.record.is_live(now)) return fail(ErrorCode::kUnauthenticated, "the bearer token has expired: pair again");
    entry.last_used_ms.store(to_unix_ms(now), std::memory_order_relaxed);
    return entry.principal;
}

std::optional<SystemTime> Tokens::expires_at(const core::Principal& principal) const {
    if (principal.proof != core::Proof::kBearerToken && principal.proof != core::Proof::kDeviceKey) return std::nullopt;
    const std::shared_lock lock(index_mutex_);
    const auto found = by_id_.find(principal.credential_id);
    return found == by_id_.end() ? std::nullopt : found->second->record.expires_at;
}

std::string Tokens::unused_id() const {
    for (;;) {
        std::string id = crypto::random_hex(kIdBytes);
        if (!by_id_.contains(id)) return id;
    }
}

Result<IssuedToken> Tokens::issue(const IssueRequest& request) {
    if (!is_display_name(request.name)) return fail(ErrorCode::kInvalidArgs, "a token's name must be 1-128 bytes without control characters");
    if (request.roles.empty()) return fail(ErrorCode::kInvalidArgs, "a token needs at least one role");
    if (request.lifetime && request.lifetime->count() <= 0) return fail(ErrorCode::kInvalidArgs, "a token's lifetime must be positive");
    const bool for_device = request.roles.has(core::Role::kDevice);
    if (!request.public_key.empty() && !for_device) return fail(ErrorCode::kInvalidArgs, "only devices have keys; a token for a caller is made without one");
    if (!for_device && !request.device.empty()) return fail(ErrorCode::kInvalidArgs, "a token for a device needs the role device");

    const std::scoped_lock writing(writing_);  // reading the index below needs no lock: only writers change it
    IssuedToken issued;
    TokenRecord& record = issued.record;
    record.id = unused_id();
    record.name = request.name;
    record.roles = request.roles;
    record.tenant = request.tenant;
    record.created_at = clock_.system_now();
    if (request.lifetime) record.expires_at = record.created_at + *request.lifetime;

    std::optional<DeviceRecord> new_device;
    if (for_device && request.device.empty()) {
        record.device = unique_slug(make_slug(request.name, "device"), [&](const std::string& slug) { return devices_.contains(slug); });
        new_device = {.slug = record.device, .display_name = request.name, .created_at = record.created_at};
    } else if (for_device) {
        if (!devices_.contains(request.device)) return fail(ErrorCode::kNotFound, "no device has that name: see `crab devices`");
        record.device = request.device;
    }
    issued.slug = for_device ? record.device : caller_slug(request.name);
    if (request.public_key.empty()) {
        issued.token = Secret(crypto::random_hex(kTokenBytes));
        record.hash_hex = crypto::sha256_hex(issued.token.reveal());
    } else {
        record.public_key = request.public_key;
        record.hash_hex = crypto::sha256_hex(request.public_key);
        if (std::ranges::any_of(by_id_, [&](const auto& entry) { return entry.second->record.hash_hex == record.hash_hex; })) {
            return fail(ErrorCode::kConflict, "this key is paired already: use it, or make a new one");
        }
    }

    if (auto stored = store_.insert(record, new_device); !stored) return fail(std::move(stored.error()));
    const std::unique_lock lock(index_mutex_);
    if (new_device) devices_.emplace(new_device->slug, *new_device);
    if (auto added = add(record); !added) return fail(std::move(added.error()));
    return issued;
}

Result<std::string> Tokens::find_key(std::string_view id) const {
    const std::shared_lock lock(index_mutex_);
    const auto found = by_id_.find(std::string(id));
    if (found == by_id_.end() || found->second->record.public_key.empty()) return fail(ErrorCode::kUnauthenticated, "this key is unknown here: pair with this gateway");
    if (!found->second->record.is_live(clock_.system_now())) return fail(ErrorCode::kUnauthenticated, "this key was revoked or has expired: pair again");
    return found->second->record.public_key;
}

Result<KeySession> Tokens::open_session(std::string_view key_id) {
    if (auto known = find_key(key_id); !known) return fail(std::move(known.error()));
    KeySession opened{.token = Secret(crypto::random_hex(kTokenBytes)), .expires_at = clock_.system_now() + kSessionLifetime};
    const crypto::Sha256Digest digest = crypto::sha256(opened.token.reveal());
    const std::unique_lock lock(index_mutex_);
    const EntryRef& key = by_id_.at(std::string(key_id));
    key->sessions.push_back(digest);
    if (key->sessions.size() > kSessionsPerKey) {
        sessions_.erase(key->sessions.front());
        key->sessions.pop_front();
    }
    sessions_.emplace(digest, Session{.key = key, .expires_at = opened.expires_at});
    return opened;
}

Result<int> Tokens::revoke(std::string_view device_or_token_id) {
    const std::scoped_lock writing(writing_);
    const std::string name(device_or_token_id);
    const SystemTime now = clock_.system_now();
    std::vector<EntryRef> meant;
    if (devices_.contains(name)) {
        for (const auto& [id, entry] : by_id_) {
            if (entry->record.device == name) meant.push_back(entry);
        }
    } else if (const auto found = by_id_.find(name); found != by_id_.end()) {
        meant.push_back(found->second);
    } else {
        for (const auto& [id, entry] : by_id_) {  // all tokens of one caller
            if (entry->record.device.empty() && (entry->record.name == name || entry->principal->id == "caller/" + name)) meant.push_back(entry);
        }
    }
    if (meant.empty() && !devices_.contains(name)) {
        return fail(ErrorCode::kNotFound, "no device and no token has that name: see `crab devices`");
    }

    std::vector<std::string> ids;    // all of them, so that a repeat mends what the store missed
    std::vector<std::string> ended;
    int were_good = 0;
    std::vector<std::function<void(const std::string&)>> callbacks;
    {
        const std::unique_lock lock(index_mutex_);
        for (const EntryRef& entry : meant) {
            ids.push_back(entry->record.id);
            if (entry->record.revoked_at) continue;
            if (entry->record.is_live(now)) ++were_good;
            entry->record.revoked_at = now;
            ended.push_back(entry->record.id);
        }
        callbacks = callbacks_;
    }
    epoch_.fetch_add(1, std::memory_order_acq_rel);
    for (const std::string& id : ended) {
        for (const auto& callback : callbacks) callback(id);
    }
    if (auto stored = store_.revoke(ids, now); !stored) {
        log::error("token revocation is not stored", {{"name", name}, {"error", stored.error().message}});
        return fail(std::move(stored.error()));
    }
    return were_good;
}

void Tokens::on_revoked(std::function<void(const std::string&)> callback) {
    const std::unique_lock lock(index_mutex_);
    callbacks_.push_back(std::move(callback));
}

TokenRecord Tokens::shown(const Entry& entry) const {
    TokenRecord record = entry.record;
    if (const std::int64_t used = entry.last_used_ms.load(std::memory_order_relaxed)) record.last_used_at = SystemTime(Milliseconds(used));
    return record;
}

std::vector<TokenRecord> Tokens::list() const {
    std::vector<TokenRecord> records;
    {
        const std::shared_lock lock(index_mutex_);
        for (const auto& [id, entry] : by_id_) records.push_back(shown(*entry));
    }
    std::ranges::sort(records, [](const TokenRecord& a, const TokenRecord& b) {
        return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
    });
    return records;
}

std::vector<DeviceRecord> Tokens::devices() const {
    std::map<std::string, DeviceRecord> by_slug;
    const std::shared_lock lock(index_mutex_);
    for (const auto& [slug, device] : devices_) by_slug.emplace(slug, device);
    for (const auto& [id, entry] : by_id_) {
        const TokenRecord token = shown(*entry);
        const auto device = by_slug.find(token.device);
        if (device == by_slug.end()) continue;
        device->second.last_seen_at = std::max(device->second.last_seen_at, token.last_used_at);
    }
    std::vector<DeviceRecord> sorted;
    for (auto& [slug, device] : by_slug) sorted.push_back(std::move(device));
    return sorted;
}

void Tokens::seen(const std::string& credential_id) {
    const std::shared_lock lock(index_mutex_);
    const auto found = by_id_.find(credential_id);
    if (found != by_id_.end()) found->second->last_used_ms.store(to_unix_ms(clock_.system_now()), std::memory_order_relaxed);
}

Result<void> Tokens::flush() {
    const std::scoped_lock writing(writing_);
    std::vector<TokenUse> uses;
    for (const auto& [id, entry] : by_id_) {
        if (const std::int64_t used = entry->last_used_ms.load(std::memory_order_relaxed)) {
            uses.push_back({.token_id = id, .at = SystemTime(Milliseconds(used))});
        }
    }
    if (uses.empty()) return {};
    if (auto stored = store_.record_uses(uses); !stored) return stored;
    const std::unique_lock lock(index_mutex_);
    for (const TokenUse& use : uses) {
        Entry& entry = *by_id_.at(use.token_id);
        entry.record.last_used_at = use.at;
        std::int64_t flushed = to_unix_ms(use.at);  // a use since then waits for the next flush
        entry.last_used_ms.compare_exchange_strong(flushed, 0, std::memory_order_relaxed);
    }
    return {};
}

}  // namespace crab::trust
