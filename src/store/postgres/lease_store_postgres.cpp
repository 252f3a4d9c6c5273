#include "store/postgres/lease_store_postgres.hpp"

#include "json/value.hpp"

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

using trust::Lease;

std::string capabilities_to_json(const std::vector<std::string>& capabilities) {
    json::Value list = json::Value::array();
    for (const std::string& capability : capabilities) list.push_back(capability);
    return list.dump();
}

Result<Lease> lease_of(const Rows::Row& row) {
    Lease lease{.id = row.text(0),
                .owner = row.text(1),
                .tenant_id = row.text(2),
                .agent_id = row.text(3),
                .session_id = row.text(4),
                .capabilities = {},
                .disconnect_bound = row.boolean(6),
                .ttl = Milliseconds(row.integer(7)),
                .issued_at = row.time(8),
                .expires_at = row.time(9),
                .revoked_at = row.optional_time(10),
                .revoke_reason = row.text(11)};
    const auto capabilities = json::Value::parse(row.text_view(5));
    if (!capabilities || !capabilities->is_array())
        return fail(ErrorCode::kInternal,
                    fmt::format("lease {} is stored without its capabilities", lease.id));
    for (const json::Value& each : *capabilities->as_array())
        if (each.as_string() != nullptr) lease.capabilities.push_back(*each.as_string());
    return lease;
}

}  // namespace

Result<std::vector<Lease>> LeaseStorePostgres::load_live(SystemTime now) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, owner, tenant, agent, session, capabilities, disconnect_bound, ttl_ms, "
        "issued_ms, expires_ms, revoked_ms, revoke_reason FROM lease WHERE revoked_ms IS NULL AND "
        "expires_ms > $1 AND (NOT disconnect_bound OR node IS NULL OR node = $2 OR NOT EXISTS "
        "(SELECT FROM node n WHERE n.number = lease.node AND n.incarnation = lease.incarnation AND "
        "n.state IN ('live', 'draining'))) ORDER BY issued_ms, id COLLATE \"C\"",
        now, self_ ? self_().number : std::int16_t{0});
    if (!rows) return fail(std::move(rows.error()));
    std::vector<Lease> live;
    for (const auto row : *rows) {
        auto lease = lease_of(row);
        if (!lease) return fail(std::move(lease.error()));
        live.push_back(std::move(*lease));
    }
    return live;
}

Result<void> LeaseStorePostgres::insert(const Lease& lease) {
    const NodeClaim self = self_ && lease.disconnect_bound ? self_() : NodeClaim{.number = 0};
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "INSERT INTO lease (id, owner, tenant, agent, session, capabilities, disconnect_bound, "
        "ttl_ms, issued_ms, expires_ms, revoked_ms, revoke_reason, node, incarnation) VALUES ($1, "
        "$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, nullif($13::smallint, 0), nullif($14::int, "
        "0))",
        lease.id, lease.owner, lease.tenant_id, lease.agent_id, lease.session_id,
        capabilities_to_json(lease.capabilities), lease.disconnect_bound,
        std::int64_t{lease.ttl.count()}, lease.issued_at, lease.expires_at, lease.revoked_at,
        lease.revoke_reason, self.number, self.incarnation);
}

Result<void> LeaseStorePostgres::set_expiry(std::string_view lease_id, SystemTime expires_at) {
    const std::scoped_lock lock(mutex_);
    return database_.run("UPDATE lease SET expires_ms = $1 WHERE id = $2", expires_at, lease_id);
}

Result<void> LeaseStorePostgres::end(std::span<const trust::LeaseEnd> ends) {
    Array ids, times, reasons;
    for (const trust::LeaseEnd& end : ends) {
        ids.add(end.lease_id);
        times.add_number(to_unix_ms(end.at));
        reasons.add(end.reason);
    }
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "WITH x AS (SELECT DISTINCT ON (id) * FROM unnest($1::text[], $2::bigint[], $3::text[]) "
        "WITH ORDINALITY u(id, at, reason, n) ORDER BY id, n), l AS (SELECT lease.id, x.at, "
        "x.reason FROM lease JOIN x USING (id) WHERE revoked_ms IS NULL ORDER BY lease.id FOR "
        "UPDATE OF lease) UPDATE lease SET revoked_ms = l.at, revoke_reason = l.reason FROM l "
        "WHERE lease.id = l.id",
        ids, times, reasons);
}

Result<void> LeaseStorePostgres::forget(SystemTime before) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM lease WHERE coalesce(revoked_ms, expires_ms) < $1", before);
}

}  // namespace crab::store::postgres
