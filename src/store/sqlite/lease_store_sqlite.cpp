#include "store/sqlite/lease_store_sqlite.hpp"

#include "json/value.hpp"

#include <array>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

using trust::Lease;

constexpr std::array<std::string_view, 1> kLeaseSchema{R"(
    CREATE TABLE peer_leases (
        lease_id TEXT PRIMARY KEY,
        owner_component_type TEXT NOT NULL,
        owner_component_id TEXT NOT NULL,
        tenant_id TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        session_id TEXT NOT NULL,
        capabilities_json TEXT NOT NULL,
        disconnect_bound INTEGER NOT NULL,
        ttl_ms INTEGER NOT NULL,
        issued_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL,
        revoked_ms INTEGER,
        revoke_reason TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX peer_leases_end ON peer_leases (coalesce(revoked_ms, expires_ms));
)"};

constexpr std::string_view kLeaseColumns =
    "lease_id, owner_component_type, owner_component_id, tenant_id, agent_id, session_id, "
    "capabilities_json, disconnect_bound, ttl_ms, issued_ms, expires_ms,"
    " revoked_ms, revoke_reason";

std::string to_json(const std::vector<std::string>& capabilities) {
    json::Value list = json::Value::array();
    for (const std::string& capability : capabilities) list.push_back(capability);
    return list.dump();
}

/// From the columns kLeaseColumns, which begin at 0.
Result<Lease> lease_of(const Statement& row) {
    Lease lease{.id = row.text(0),
                .owner = row.text(1) + "/" + row.text(2),
                .tenant_id = row.text(3),
                .agent_id = row.text(4),
                .session_id = row.text(5),
                .capabilities = {},
                .disconnect_bound = row.integer(7) != 0,
                .ttl = Milliseconds(row.integer(8)),
                .issued_at = row.time(9),
                .expires_at = row.time(10),
                .revoked_at = row.optional_time(11),
                .revoke_reason = row.text(12)};
    const auto capabilities = json::Value::parse(row.text_view(6));
    if (!capabilities || !capabilities->is_array())
        return fail(ErrorCode::kInternal,
                    fmt::format("lease {} is stored without its capabilities", lease.id));
    for (const json::Value& each : *capabilities->as_array()) {
        if (each.as_string() != nullptr) lease.capabilities.push_back(*each.as_string());
    }
    return lease;
}

}  // namespace

Result<std::unique_ptr<LeaseStoreSqlite>> LeaseStoreSqlite::open(const std::filesystem::path& path,
                                                                 DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("leases", kLeaseSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<LeaseStoreSqlite>(new LeaseStoreSqlite(std::move(*database)));
}

Result<std::vector<Lease>> LeaseStoreSqlite::load_live(SystemTime now) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(fmt::format("SELECT {} FROM peer_leases WHERE revoked_ms IS NULL "
                                            "AND expires_ms > ? ORDER BY issued_ms, lease_id",
                                            kLeaseColumns),
                                now);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<Lease> live;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return live;
        auto lease = lease_of(*rows);
        if (!lease) return fail(std::move(lease.error()));
        live.push_back(std::move(*lease));
    }
}

Result<void> LeaseStoreSqlite::insert(const Lease& lease) {
    const std::scoped_lock lock(mutex_);
    const std::size_t slash = lease.owner.find('/');
    const std::string type = lease.owner.substr(0, slash), id = slash == std::string::npos
                                                                    ? std::string()
                                                                    : lease.owner.substr(slash + 1);
    return database_.run(
        fmt::format("INSERT INTO peer_leases ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    kLeaseColumns),
        lease.id, type, id, lease.tenant_id, lease.agent_id, lease.session_id,
        to_json(lease.capabilities), std::int64_t{lease.disconnect_bound},
        std::int64_t{lease.ttl.count()}, lease.issued_at, lease.expires_at, lease.revoked_at,
        lease.revoke_reason);
}

Result<void> LeaseStoreSqlite::set_expiry(std::string_view lease_id, SystemTime expires_at) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE peer_leases SET expires_ms = ? WHERE lease_id = ?", expires_at,
                         lease_id);
}

Result<void> LeaseStoreSqlite::end(std::span<const trust::LeaseEnd> ends) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const trust::LeaseEnd& end : ends) {
            auto done = database_.run(
                "UPDATE peer_leases SET revoked_ms = ?, revoke_reason = ? WHERE lease_id = ? AND "
                "revoked_ms IS NULL",
                end.at, end.reason, end.lease_id);
            if (!done) return done;
        }
        return {};
    });
}

Result<void> LeaseStoreSqlite::forget(SystemTime before) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM peer_leases WHERE coalesce(revoked_ms, expires_ms) < ?",
                         before);
}

}  // namespace crab::store::sqlite
