#include "store/postgres/token_store_postgres.hpp"

#include "base/encoding.hpp"
#include "store/postgres/text_lists.hpp"

namespace crab::store::postgres {
namespace {

/// Of the advisory lock of those who add tokens.
constexpr std::int64_t kIssueLock = 0x637261627461;

/// What Tokens has looked for in its memory may be another node's by now.
Result<void> expect_free(Connection& database, const trust::TokenRecord& token,
                         std::span<const std::uint8_t> hash, bool is_new_device) {
    if (auto locked = database.run("SELECT pg_advisory_xact_lock($1)", kIssueLock); !locked)
        return locked;
    auto rows = database.query(
        "SELECT EXISTS (SELECT FROM token WHERE id = $1 OR hash = $2::bytea) OR ($3 AND EXISTS "
        "(SELECT FROM device WHERE slug = $4)) OR ($5 <> '' AND EXISTS (SELECT FROM token WHERE "
        "device IS NULL AND (caller = $5) <> (name = $6)))",
        token.id, hash, is_new_device, token.device, token.caller, token.name);
    if (!rows) return fail(std::move(rows.error()));
    if (!(*rows)[0].boolean(0)) return {};
    return fail(ErrorCode::kConflict,
                "another gateway of the fleet has just used this name: repeat it");
}

}  // namespace

Result<trust::TokenStore::Contents> TokenStorePostgres::load_all() {
    const std::scoped_lock lock(mutex_);
    Contents contents;
    auto devices = database_.query(
        "SELECT slug, display_name, created_ms, last_seen_ms FROM device ORDER BY slug COLLATE "
        "\"C\"");
    if (!devices) return fail(std::move(devices.error()));
    for (const auto row : *devices)
        contents.devices.push_back({.slug = row.text(0),
                                    .display_name = row.text(1),
                                    .created_at = row.time(2),
                                    .last_seen_at = row.optional_time(3)});
    auto tokens = database_.query(
        "SELECT id, hash, name, device, roles, array_to_string(tenants, E'\\n'), created_ms, "
        "expires_ms, revoked_ms, last_used_ms, public_key, caller FROM token "
        "ORDER BY created_ms, id COLLATE \"C\"");
    if (!tokens) return fail(std::move(tokens.error()));
    for (const auto row : *tokens) {
        const auto roles = core::Roles::parse(row.text_view(4));
        if (!roles)
            return fail(ErrorCode::kInternal,
                        "token " + row.text(0) +
                            " has a role that this program does not know: use the newer program");
        contents.tokens.push_back({.id = row.text(0),
                                   .hash_hex = to_hex(bytes_of(row.bytes(1))),
                                   .name = row.text(2),
                                   .device = row.text(3),
                                   .caller = row.text(11),
                                   .roles = *roles,
                                   .tenants = tenants_of(row.text_view(5)),
                                   .created_at = row.time(6),
                                   .expires_at = row.optional_time(7),
                                   .revoked_at = row.optional_time(8),
                                   .last_used_at = row.optional_time(9),
                                   .public_key = row.bytes(10)});
    }
    return contents;
}

Result<void> TokenStorePostgres::insert(const trust::TokenRecord& token,
                                        const std::optional<trust::DeviceRecord>& new_device) {
    const auto hash = from_hex(token.hash_hex);
    if (!hash) return fail(ErrorCode::kInternal, "a token's hash is no hexadecimal number");
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto free = expect_free(database_, token, bytes_of(*hash), new_device.has_value());
            !free)
            return free;
        if (new_device) {
            auto added = database_.run(
                "INSERT INTO device (slug, display_name, created_ms, last_seen_ms) VALUES ($1, "
                "$2, $3, $4)",
                new_device->slug, new_device->display_name, new_device->created_at,
                new_device->last_seen_at);
            if (!added) return added;
        }
        return database_.run(
            "INSERT INTO token (id, hash, name, device, roles, tenants, created_ms, expires_ms, "
            "revoked_ms, last_used_ms, public_key, caller) VALUES ($1, $2, $3, nullif($4, ''), "
            "$5, $6::text[], $7, $8, $9, $10, nullif($11::bytea, ''), $12)",
            token.id, bytes_of(*hash), token.name, token.device, token.roles.to_text(),
            array_of(token.tenants), token.created_at, token.expires_at, token.revoked_at,
            token.last_used_at, bytes_of(token.public_key), token.caller);
    });
}

Result<void> TokenStorePostgres::name_callers(std::span<const trust::CallerName> names) {
    Array ids, callers;
    for (const trust::CallerName& name : names) {
        ids.add(name.token_id);
        callers.add(name.caller);
    }
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE token SET caller = x.caller FROM unnest($1::text[], $2::text[]) x(id, caller) "
        "WHERE token.id = x.id",
        ids, callers);
}

Result<void> TokenStorePostgres::rename_device(std::string_view slug, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE device SET display_name = $1 WHERE slug = $2", name, slug);
}

Result<void> TokenStorePostgres::revoke(std::span<const std::string> token_ids, SystemTime at) {
    Array ids;
    for (const std::string& id : token_ids) ids.add(id);
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE token SET revoked_ms = coalesce(revoked_ms, $1) WHERE id = ANY ($2::text[])", at,
        ids);
}

// In the order of their ids, so that nodes that do the same wait and do not deadlock. Times only
// grow: another node may have stored a later one.
Result<void> TokenStorePostgres::record_uses(std::span<const trust::TokenUse> uses) {
    Array ids, times;
    for (const trust::TokenUse& use : uses) {
        ids.add(use.token_id);
        times.add_number(to_unix_ms(use.at));
    }
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        auto used = database_.run(
            "WITH x AS (SELECT id, max(at) AS at FROM unnest($1::text[], $2::bigint[]) u(id, at) "
            "GROUP BY id), l AS (SELECT t.id, x.at FROM token t JOIN x USING (id) ORDER BY t.id "
            "FOR UPDATE OF t) UPDATE token SET last_used_ms = greatest(last_used_ms, l.at) FROM l "
            "WHERE token.id = l.id",
            ids, times);
        if (!used) return used;
        return database_.run(
            "WITH x AS (SELECT t.device AS slug, max(u.at) AS at FROM unnest($1::text[], "
            "$2::bigint[]) u(id, at) JOIN token t USING (id) GROUP BY t.device), l AS (SELECT "
            "d.slug, x.at FROM device d JOIN x USING (slug) ORDER BY d.slug FOR UPDATE OF d) "
            "UPDATE device SET last_seen_ms = greatest(last_seen_ms, l.at) FROM l WHERE "
            "device.slug = l.slug",
            ids, times);
    });
}

}  // namespace crab::store::postgres
