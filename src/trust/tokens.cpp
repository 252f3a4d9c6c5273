#include "trust/tokens.hpp"

#include "base/encoding.hpp"
#include "base/log.hpp"
#include "crypto/random.hpp"
#include "json/display_name.hpp"
#include "trust/slug.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::trust {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kTokenIdBytes = 4;
constexpr std::size_t kDigestChars = 8;
constexpr std::size_t kMostTenants = 32;

bool is_token(std::string_view text) {
    return text.size() == 2 * kTokenBytes &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<crypto::Sha256Digest> digest_of(std::string_view hex) {
    const auto bytes = from_hex(hex);
    crypto::Sha256Digest digest;
    if (!bytes || bytes->size() != digest.size()) return std::nullopt;
    std::memcpy(digest.data(), bytes->data(), digest.size());
    return digest;
}

/// The slug that a caller of this name gets; names without a letter or digit of ASCII have a digest
/// in it.
std::string caller_slug(std::string_view name) {
    std::string slug = make_slug(name, {});
    return slug.empty() ? "caller-" + crypto::sha256_hex(name).substr(0, kDigestChars) : slug;
}

bool is_tenant(const TenantId& tenant) {
    return json::read_display_name(tenant.text()).has_value();
}

core::PrincipalRef principal_of(const TokenRecord& record) {
    core::Principal principal;
    principal.id = record.principal_id();
    principal.tenant = record.tenants.front();
    principal.more_tenants.assign(record.tenants.begin() + 1, record.tenants.end());
    principal.roles = record.roles;
    principal.proof =
        record.public_key.empty() ? core::Proof::kBearerToken : core::Proof::kDeviceKey;
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
    if (auto named = tokens->name_callers(contents->tokens); !named)
        return fail(std::move(named.error()));
    for (TokenRecord& record : contents->tokens) {
        if (const auto added = tokens->add(std::move(record)); !added) return fail(added.error());
    }
    return tokens;
}

/// Gives every caller among `records` its slug, and stores those that are new.
Result<void> Tokens::name_callers(std::vector<TokenRecord>& records) {
    std::map<std::string, std::string> slugs, names;  // by name, and the other way
    std::vector<TokenRecord*> unnamed;
    for (TokenRecord& record : records) {
        if (!record.device.empty()) continue;
        if (record.caller.empty()) {
            unnamed.push_back(&record);
        } else {
            slugs.emplace(record.name, record.caller);
            names.emplace(record.caller, record.name);
        }
    }
    const SystemTime now = clock_.system_now();
    std::ranges::stable_sort(unnamed, {}, [&](const TokenRecord* record) {
        return std::tuple(!record->is_live(now), record->created_at, record->id);
    });
    std::vector<CallerName> made;
    for (TokenRecord* record : unnamed) {
        const auto known = slugs.find(record->name);
        if (known != slugs.end()) {
            record->caller = known->second;
        } else {
            // what the name alone has led to
            const std::string before = make_slug(record->name, "caller");
            const auto is_taken = [&](const std::string& slug) { return names.contains(slug); };
            record->caller =
                is_taken(before) ? unique_slug(caller_slug(record->name), is_taken) : before;
            if (record->caller != before) {
                log::warn("a caller has a principal of its own now: look at the policy",
                          {{"name", record->name},
                           {"was", "caller/" + before},
                           {"is", "caller/" + record->caller}});
            }
            slugs.emplace(record->name, record->caller);
            names.emplace(record->caller, record->name);
        }
        made.push_back({.token_id = record->id, .caller = record->caller});
    }
    if (made.empty()) return {};
    return store_.name_callers(made);
}

/// The caller holds index_mutex_, or is the only one to know *this.
Result<void> Tokens::add(TokenRecord record) {
    const auto digest = digest_of(record.hash_hex);
    if (!digest) {
        return fail(ErrorCode::kInternal,
                    "token " + record.id +
                        " is stored without a proper hash: restore the token store from a backup");
    }
    // an empty tenant would allow any tenant
    std::erase_if(record.tenants, [](const TenantId& tenant) { return tenant.empty(); });
    if (record.tenants.empty()) record.tenants.emplace_back(std::string(core::kDefaultTenant));
    auto entry = std::make_shared<Entry>();
    entry->principal = principal_of(record);
    entry->record = std::move(record);
    by_id_.emplace(entry->record.id, entry);
    by_hash_.emplace(*digest, std::move(entry));
    return {};
}

Result<Proven> Tokens::prove(std::string_view token) {
    if (!is_token(token)) {
        return fail(ErrorCode::kUnauthenticated,
                    "the bearer token is malformed: send the 64 characters that pairing gave out");
    }
    if (is_cut_off())
        return fail(ErrorCode::kUnavailable,
                    "this node is cut off from its fleet and does not know who was revoked: use "
                    "another one, or repeat later");
    const crypto::Sha256Digest digest = crypto::sha256(token);
    const SystemTime now = clock_.system_now();
    const std::shared_lock lock(index_mutex_);
    const auto session = sessions_.find(digest);
    if (session != sessions_.end() && session->second.expires_at <= now) {
        return fail(ErrorCode::kUnauthenticated,
                    "the bearer token has expired: sign a new challenge");
    }
    const auto found = by_hash_.find(digest);
    if (session == sessions_.end() &&
        (found == by_hash_.end() || !found->second->record.public_key.empty())) {
        return fail(ErrorCode::kUnauthenticated,
                    "the bearer token is unknown here: pair with this gateway");
    }
    Entry& entry = session != sessions_.end() ? *session->second.key : *found->second;
    if (entry.record.revoked_at)
        return fail(ErrorCode::kUnauthenticated, "the bearer token was revoked: pair again");
    if (!entry.record.is_live(now))
        return fail(ErrorCode::kUnauthenticated, "the bearer token has expired: pair again");
    entry.last_used_ms.store(to_unix_ms(now), std::memory_order_relaxed);
    std::optional<SystemTime> until = entry.record.expires_at;
    if (session != sessions_.end())
        until = std::min(until.value_or(session->second.expires_at), session->second.expires_at);
    return Proven{.principal = entry.principal, .good_until = until};
}

std::string Tokens::unused_id() const {
    for (;;) {
        std::string id = crypto::random_hex(kTokenIdBytes);
        if (!by_id_.contains(id)) return id;
    }
}

/// The slug of the caller of this name; nothing when it has no token yet. The caller holds
/// index_mutex_.
std::optional<std::string> Tokens::caller_named(std::string_view name) const {
    const auto its = std::ranges::find_if(by_id_, [&](const auto& entry) {
        return entry.second->record.device.empty() && entry.second->record.name == name;
    });
    return its == by_id_.end() ? std::nullopt : std::optional(its->second->record.caller);
}

/// The other way.
std::optional<std::string> Tokens::name_of_caller(std::string_view slug) const {
    const auto its = std::ranges::find_if(by_id_, [&](const auto& entry) {
        return entry.second->record.device.empty() && entry.second->record.caller == slug;
    });
    return its == by_id_.end() ? std::nullopt : std::optional(its->second->record.name);
}

Result<void> Tokens::check(const IssueRequest& request) const {
    if (request.roles.empty())
        return fail(ErrorCode::kInvalidArgs, "a token needs at least one role");
    if (request.lifetime && request.lifetime->count() <= 0)
        return fail(ErrorCode::kInvalidArgs, "a token's lifetime must be positive");
    if (request.tenants.size() > kMostTenants || !std::ranges::all_of(request.tenants, is_tenant)) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("a token has at most {} tenants, whose names are 1-128 characters "
                                "without control characters and what is not seen",
                                kMostTenants));
    }
    const bool for_device = request.roles.has(core::Role::kDevice);
    if (!request.public_key.empty() && !for_device && !request.for_console)
        return fail(ErrorCode::kInvalidArgs,
                    "only devices and browsers of the console have keys; a token for a caller is "
                    "made without one");
    if (request.for_console && for_device)
        return fail(ErrorCode::kInvalidArgs, "a browser of the console is no device");
    if (!for_device && !request.device.empty())
        return fail(ErrorCode::kInvalidArgs, "a token for a device needs the role device");
    const std::shared_lock lock(index_mutex_);
    if (for_device && !request.device.empty() && !devices_.contains(request.device))
        return fail(ErrorCode::kNotFound, "no device has that name: see `crab devices`");
    // what a caller is called already stays good, whatever names could be then
    if (for_device || !caller_named(request.name)) {
        if (auto name = json::read_display_name(request.name); !name)
            return fail(std::move(name.error()));
    }
    if (!for_device && !caller_named(request.name)) {
        const std::string slug = caller_slug(request.name);
        if (const auto other = name_of_caller(slug)) {
            return fail(ErrorCode::kConflict,
                        fmt::format("the name {} would become caller/{}, which is that of {}: "
                                    "choose a name with other letters or digits",
                                    request.name, slug, *other));
        }
    }
    if (!request.public_key.empty()) {
        const std::string hash_hex = crypto::sha256_hex(request.public_key);
        if (std::ranges::any_of(by_id_, [&](const auto& entry) {
                return entry.second->record.hash_hex == hash_hex;
            })) {
            return fail(ErrorCode::kConflict,
                        "this key is paired already: use it, or make a new one");
        }
    }
    return {};
}

Result<IssuedToken> Tokens::issue(const IssueRequest& request) {
    // reading the index below needs no lock: only writers change it
    const std::scoped_lock writing(writing_);
    if (auto good = check(request); !good) return fail(std::move(good.error()));
    auto issued = issue_once(request);
    // Another gateway took the name or the slug, which was not known here yet.
    constexpr int kTries = 3;
    for (int i = 1; i < kTries && !issued && issued.error().code == ErrorCode::kConflict; ++i) {
        if (auto read = refresh_tokens(); !read) return fail(std::move(read.error()));
        issued = issue_once(request);
    }
    return issued;
}

/// The caller holds writing_.
Result<IssuedToken> Tokens::issue_once(const IssueRequest& request) {
    if (auto good = check(request); !good) return fail(std::move(good.error()));
    const bool for_device = request.roles.has(core::Role::kDevice);
    IssuedToken issued;
    TokenRecord& record = issued.record;
    record.id = unused_id();
    record.name = request.name;
    record.roles = request.roles;
    for (const TenantId& tenant : request.tenants) {
        if (std::ranges::find(record.tenants, tenant) == record.tenants.end())
            record.tenants.push_back(tenant);
    }
    if (record.tenants.empty()) record.tenants.emplace_back(std::string(core::kDefaultTenant));
    record.created_at = clock_.system_now();
    if (request.lifetime) record.expires_at = record.created_at + *request.lifetime;

    std::optional<DeviceRecord> new_device;
    if (for_device && request.device.empty()) {
        record.device =
            unique_slug(make_slug(request.name, "device"),
                        [&](const std::string& slug) { return devices_.contains(slug); });
        new_device = {
            .slug = record.device, .display_name = request.name, .created_at = record.created_at};
    } else if (for_device) {
        record.device = request.device;
    } else {
        record.caller = caller_named(request.name).value_or(caller_slug(request.name));
    }
    issued.slug = for_device ? record.device : record.caller;
    if (request.public_key.empty()) {
        issued.token = Secret(crypto::random_hex(kTokenBytes));
        record.hash_hex = crypto::sha256_hex(issued.token.reveal());
    } else {
        record.public_key = request.public_key;
        record.hash_hex = crypto::sha256_hex(request.public_key);
    }

    if (auto stored = store_.insert(record, new_device); !stored)
        return fail(std::move(stored.error()));
    const std::unique_lock lock(index_mutex_);
    if (new_device) devices_.emplace(new_device->slug, *new_device);
    if (auto added = add(record); !added) return fail(std::move(added.error()));
    log::info("token issued", {{"token_id", record.id},
                               {"kind", record.public_key.empty() ? "token" : "key"},
                               {"principal", by_id_.at(record.id)->principal->id},
                               {"roles", record.roles.to_text()}});
    return issued;
}

Result<DeviceRecord> Tokens::rename(std::string_view device, std::string_view given) {
    const auto name = json::read_display_name(given);
    if (!name) return fail(name.error());
    // reading the index below needs no lock: only writers change it
    const std::scoped_lock writing(writing_);
    const auto found = devices_.find(std::string(device));
    if (found == devices_.end())
        return fail(ErrorCode::kNotFound, "no device has that name: see `crab devices`");
    if (auto stored = store_.rename_device(device, *name); !stored)
        return fail(std::move(stored.error()));
    log::info("device renamed", {{"device", device}, {"name", *name}});
    const std::unique_lock lock(index_mutex_);
    found->second.display_name = *name;
    return found->second;
}

Result<std::string> Tokens::find_key(std::string_view id) const {
    const std::shared_lock lock(index_mutex_);
    const auto found = by_id_.find(std::string(id));
    if (found == by_id_.end() || found->second->record.public_key.empty())
        return fail(ErrorCode::kUnauthenticated,
                    "this key is unknown here: pair with this gateway");
    if (!found->second->record.is_live(clock_.system_now()))
        return fail(ErrorCode::kUnauthenticated, "this key was revoked or has expired: pair again");
    return found->second->record.public_key;
}

Result<Proven> Tokens::find_credential(std::string_view id) const {
    const std::shared_lock lock(index_mutex_);
    const auto found = by_id_.find(std::string(id));
    if (found == by_id_.end() || !found->second->record.is_live(clock_.system_now()))
        return fail(ErrorCode::kUnauthenticated, "this credential was revoked or has expired");
    return Proven{.principal = found->second->principal,
                  .good_until = found->second->record.expires_at};
}

Result<KeySession> Tokens::open_session(std::string_view key_id) {
    if (auto known = find_key(key_id); !known) return fail(std::move(known.error()));
    KeySession opened{.token = Secret(crypto::random_hex(kTokenBytes)),
                      .expires_at = clock_.system_now() + kSessionLifetime};
    const crypto::Sha256Digest digest = crypto::sha256(opened.token.reveal());
    if (shared_ != nullptr) {
        auto stored = shared_->add_session({.hash_hex = to_hex(digest),
                                            .key_id = std::string(key_id),
                                            .expires_at = opened.expires_at},
                                           kSessionsPerKey);
        if (!stored) return fail(std::move(stored.error()));
    }
    const std::unique_lock lock(index_mutex_);
    add_session(by_id_.at(std::string(key_id)), digest, opened.expires_at);
    return opened;
}

/// The caller holds index_mutex_.
void Tokens::add_session(const EntryRef& key, const crypto::Sha256Digest& digest,
                         SystemTime until) {
    if (!sessions_.emplace(digest, Session{.key = key, .expires_at = until}).second) return;
    key->sessions.push_back(digest);
    if (key->sessions.size() <= kSessionsPerKey) return;
    sessions_.erase(key->sessions.front());
    key->sessions.pop_front();
    epoch_.fetch_add(1, std::memory_order_acq_rel);  // whoever has remembered it asks again
}

Result<void> Tokens::share_sessions(SharedCredentials& shared) {
    const std::scoped_lock writing(writing_);
    shared_ = &shared;
    return read_sessions();
}

Result<void> Tokens::refresh_sessions() {
    const std::scoped_lock writing(writing_);
    return read_sessions();
}

/// The caller holds writing_.
Result<void> Tokens::read_sessions() {
    if (shared_ == nullptr) return {};
    const auto added = shared_->new_sessions();
    if (!added) return fail(added.error());
    const std::unique_lock lock(index_mutex_);
    for (const StoredSession& session : *added) {
        const auto key = by_id_.find(session.key_id);
        const auto digest = digest_of(session.hash_hex);
        // one of a key that is not known comes again with the key
        if (key != by_id_.end() && digest) add_session(key->second, *digest, session.expires_at);
    }
    return {};
}

Result<int> Tokens::revoke(std::string_view name) {
    const std::scoped_lock writing(writing_);
    std::map<std::string, std::vector<EntryRef>> found;  // by whom or what the name may mean
    const auto add_principal = [&](const std::string& id) {
        std::vector<EntryRef>& its = found[id];
        for (const auto& [token_id, entry] : by_id_) {
            if (entry->principal->id == id) its.push_back(entry);
        }
    };
    const std::string text(name);
    const auto slug_behind = [&](std::string_view kind) {
        return name.starts_with(kind) ? text.substr(kind.size()) : std::string();
    };
    const std::string device = slug_behind("device/"), caller = slug_behind("caller/");
    if (devices_.contains(text)) add_principal("device/" + text);
    if (devices_.contains(device)) add_principal(text);
    if (const auto named = caller_named(name))
        add_principal("caller/" + *named);
    else if (name_of_caller(name))
        add_principal("caller/" + text);
    if (name_of_caller(caller)) add_principal(text);
    if (const auto one = by_id_.find(text); one != by_id_.end())
        found["token " + text].push_back(one->second);
    if (found.empty())
        return fail(ErrorCode::kNotFound,
                    "no device and no token has that name: see `crab devices`");
    if (found.size() > 1)
        return fail(ErrorCode::kConflict, fmt::format("{} may be {}: name one of these", name,
                                                      fmt::join(std::views::keys(found), " or ")));
    return end(name, found.begin()->second);
}

Result<int> Tokens::revoke_token(std::string_view id) {
    const std::scoped_lock writing(writing_);
    const auto found = by_id_.find(std::string(id));
    if (found == by_id_.end())
        return fail(ErrorCode::kNotFound, "no token has that id: see `crab devices`");
    return end(id, {found->second});
}

/// The caller holds writing_.
Result<int> Tokens::end(std::string_view name, const std::vector<EntryRef>& meant) {
    const SystemTime now = clock_.system_now();
    std::vector<std::string> ids;  // all of them, so that a repeat completes a failed write
    std::vector<std::string> ended;
    int were_good = 0;
    {
        const std::unique_lock lock(index_mutex_);
        for (const EntryRef& entry : meant) {
            ids.push_back(entry->record.id);
            if (entry->record.revoked_at) continue;
            if (entry->record.is_live(now)) ++were_good;
            entry->record.revoked_at = now;
            ended.push_back(entry->record.id);
        }
    }
    for (const std::string& id : ended)
        log::info("token revoked", {{"token_id", id}, {"name", name}});
    tell_revoked(ended);
    if (auto stored = store_.revoke(ids, now); !stored) {
        log::error("token revocation is not stored",
                   {{"name", name}, {"error", stored.error().message}});
        return fail(std::move(stored.error()));
    }
    return were_good;
}

/// They are marked as revoked.
void Tokens::tell_revoked(std::span<const std::string> ids) {
    std::vector<std::function<void(const std::string&)>> callbacks;
    {
        const std::shared_lock lock(index_mutex_);
        callbacks = callbacks_;
    }
    epoch_.fetch_add(1, std::memory_order_acq_rel);
    for (const std::string& id : ids)
        for (const auto& callback : callbacks) callback(id);
}

Result<void> Tokens::refresh() {
    const std::scoped_lock writing(writing_);
    if (auto read = refresh_tokens(); !read) return read;
    return read_sessions();
}

/// The caller holds writing_.
Result<void> Tokens::refresh_tokens() {
    auto contents = store_.load_all();
    if (!contents) return fail(std::move(contents.error()));
    std::vector<std::string> ended;
    {
        const std::unique_lock lock(index_mutex_);
        for (DeviceRecord& device : contents->devices) {
            const std::string slug = device.slug;
            const auto [known, is_new] = devices_.try_emplace(slug, device);
            if (!is_new) known->second.display_name = std::move(device.display_name);
        }
        for (TokenRecord& record : contents->tokens) {
            const auto known = by_id_.find(record.id);
            if (known == by_id_.end()) {
                if (auto added = add(std::move(record)); !added) return added;
            } else if (record.revoked_at && !known->second->record.revoked_at) {
                known->second->record.revoked_at = record.revoked_at;
                ended.push_back(record.id);
            }
        }
    }
    for (const std::string& id : ended)
        log::info("token revoked at another gateway", {{"token_id", id}});
    if (!ended.empty()) tell_revoked(ended);
    return {};
}

void Tokens::take_revoked(std::span<const std::string> ids) {
    std::vector<std::string> ended;
    {
        const std::unique_lock lock(index_mutex_);
        for (const std::string& id : ids) {
            const auto known = by_id_.find(id);
            if (known == by_id_.end() || known->second->record.revoked_at) continue;
            known->second->record.revoked_at = clock_.system_now();
            ended.push_back(id);
        }
    }
    for (const std::string& id : ended)
        log::info("another gateway says that a token is revoked", {{"token_id", id}});
    if (!ended.empty()) tell_revoked(ended);
}

void Tokens::set_cut_off(bool cut_off) {
    if (cut_off_.exchange(cut_off, std::memory_order_acq_rel) != cut_off)
        epoch_.fetch_add(1, std::memory_order_acq_rel);  // whoever has remembered one asks again
}

void Tokens::on_revoked(std::function<void(const std::string&)> callback) {
    const std::unique_lock lock(index_mutex_);
    callbacks_.push_back(std::move(callback));
}

TokenRecord Tokens::shown(const Entry& entry) const {
    TokenRecord record = entry.record;
    if (const std::int64_t used = entry.last_used_ms.load(std::memory_order_relaxed))
        record.last_used_at = SystemTime(Milliseconds(used));
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
    if (found != by_id_.end())
        found->second->last_used_ms.store(to_unix_ms(clock_.system_now()),
                                          std::memory_order_relaxed);
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
