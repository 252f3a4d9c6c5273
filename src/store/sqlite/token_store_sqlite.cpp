#include "store/sqlite/token_store_sqlite.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"

#include <array>
#include <ranges>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 3> kTokenSchema{R"(
    CREATE TABLE device (
        slug TEXT PRIMARY KEY,
        display_name TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        last_seen_ms INTEGER
    ) STRICT;
    CREATE TABLE token (
        id TEXT PRIMARY KEY,
        hash_hex TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        device TEXT REFERENCES device (slug),
        roles TEXT NOT NULL,
        tenant TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER,
        revoked_ms INTEGER,
        last_used_ms INTEGER
    ) STRICT;
)",
                                                       R"(
    ALTER TABLE token ADD COLUMN public_key TEXT;   -- DER in hexadecimal
)",
                                                       R"(
    ALTER TABLE token ADD COLUMN caller TEXT NOT NULL DEFAULT '';   -- slug in caller/<slug>; '': )"
                                                       R"(a device's, or not named yet
    UPDATE token SET tenant = 'default' WHERE tenant = '';          -- tenants,)"
                                                       R"( one a line; once '' was any
)"};

std::string to_lines(const std::vector<TenantId>& tenants) {
    std::string lines;
    for (const TenantId& tenant : tenants) lines += (lines.empty() ? "" : "\n") + tenant.text();
    return lines;
}

std::vector<TenantId> from_lines(std::string_view lines) {
    std::vector<TenantId> tenants;
    for (const auto line : std::views::split(lines, '\n'))
        tenants.emplace_back(std::string(std::string_view(line)));
    return tenants;
}

}  // namespace

Result<std::unique_ptr<TokenStoreSqlite>> TokenStoreSqlite::open(const std::filesystem::path& path,
                                                                 DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("tokens", kTokenSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<TokenStoreSqlite>(new TokenStoreSqlite(std::move(*database)));
}

Result<trust::TokenStore::Contents> TokenStoreSqlite::load_all() {
    const std::scoped_lock lock(mutex_);
    Contents contents;
    auto devices = database_.query(
        "SELECT slug, display_name, created_ms, last_seen_ms FROM device ORDER BY slug");
    if (!devices) return fail(std::move(devices.error()));
    for (;;) {
        const auto row = devices->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        contents.devices.push_back({.slug = devices->text(0),
                                    .display_name = devices->text(1),
                                    .created_at = devices->time(2),
                                    .last_seen_at = devices->optional_time(3)});
    }
    auto tokens = database_.query(
        "SELECT id, hash_hex, name, device, roles, tenant, created_ms, expires_ms, revoked_ms, "
        "last_used_ms, public_key, caller FROM token ORDER BY created_ms, id");
    if (!tokens) return fail(std::move(tokens.error()));
    for (;;) {
        const auto row = tokens->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        const auto roles = core::Roles::parse(tokens->text_view(4));
        if (!roles)
            return fail(ErrorCode::kInternal,
                        "token " + tokens->text(0) +
                            " has a role that this program does not know: use the newer program");
        contents.tokens.push_back({.id = tokens->text(0),
                                   .hash_hex = tokens->text(1),
                                   .name = tokens->text(2),
                                   .device = tokens->text(3),
                                   .caller = tokens->text(11),
                                   .roles = *roles,
                                   .tenants = from_lines(tokens->text_view(5)),
                                   .created_at = tokens->time(6),
                                   .expires_at = tokens->optional_time(7),
                                   .revoked_at = tokens->optional_time(8),
                                   .last_used_at = tokens->optional_time(9),
                                   .public_key = from_hex(tokens->text_view(10)).value_or("")});
    }
    return contents;
}

Result<void> TokenStoreSqlite::insert(const trust::TokenRecord& token,
                                      const std::optional<trust::DeviceRecord>& new_device) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (new_device) {
            auto added = database_.run(
                "INSERT INTO device (slug, display_name, created_ms, last_seen_ms) VALUES (?, ?, "
                "?, ?)",
                new_device->slug, new_device->display_name, new_device->created_at,
                new_device->last_seen_at);
            if (!added) return added;
        }
        return database_.run(
            "INSERT INTO token (id, hash_hex, name, device, roles, tenant, created_ms, expires_ms, "
            "revoked_ms, last_used_ms, public_key, caller)"
            " VALUES (?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, nullif(?, ''), ?)",
            token.id, token.hash_hex, token.name, token.device, token.roles.to_text(),
            to_lines(token.tenants), token.created_at, token.expires_at, token.revoked_at,
            token.last_used_at, to_hex(bytes_of(token.public_key)), token.caller);
    });
}

Result<void> TokenStoreSqlite::name_callers(std::span<const trust::CallerName> names) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const trust::CallerName& name : names) {
            if (auto done = database_.run("UPDATE token SET caller = ? WHERE id = ?", name.caller,
                                          name.token_id);
                !done)
                return done;
        }
        return {};
    });
}

Result<void> TokenStoreSqlite::rename_device(std::string_view slug, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE device SET display_name = ? WHERE slug = ?", name, slug);
}

Result<void> TokenStoreSqlite::revoke(std::span<const std::string> token_ids, SystemTime at) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const std::string& id : token_ids) {
            if (auto done = database_.run(
                    "UPDATE token SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?", at, id);
                !done)
                return done;
        }
        return {};
    });
}

Result<void> TokenStoreSqlite::record_uses(std::span<const trust::TokenUse> uses) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const trust::TokenUse& use : uses) {
            if (auto done = database_.run("UPDATE token SET last_used_ms = ? WHERE id = ?", use.at,
                                          use.token_id);
                !done)
                return done;
            auto seen = database_.run(
                "UPDATE device SET last_seen_ms = max(coalesce(last_seen_ms, 0), ?) WHERE slug = "
                "(SELECT device FROM token WHERE id = ?)",
                use.at, use.token_id);
            if (!seen) return seen;
        }
        return {};
    });
}

}  // namespace crab::store::sqlite
