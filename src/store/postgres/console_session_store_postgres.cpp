#include "store/postgres/console_session_store_postgres.hpp"

#include <algorithm>
#include <optional>

namespace crab::store::postgres {
namespace {

std::optional<crypto::Sha256Digest> read_session_digest(std::string_view bytes) {
    crypto::Sha256Digest digest{};
    if (bytes.size() != digest.size()) return std::nullopt;
    std::ranges::copy(bytes, digest.begin());
    return digest;
}

}  // namespace

Result<std::vector<console::StoredSession>> ConsoleSessionStorePostgres::load_all() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT number, cookie_sha256, key_sha256, principal, roles, credential, expires_ms, "
        "used_ms FROM console_session WHERE node = $1 ORDER BY number",
        node_);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<console::StoredSession> sessions;
    for (const auto row : *rows) {
        const auto cookie = read_session_digest(row.bytes(1));
        const auto key = read_session_digest(row.bytes(2));
        const auto roles = core::Roles::parse(row.text_view(4));
        if (!cookie || !key || !roles) continue;  // it lets nobody in
        sessions.push_back({.cookie = *cookie,
                            .key = *key,
                            .session = {.number = static_cast<std::uint64_t>(row.integer(0)),
                                        .principal = row.text(3),
                                        .roles = *roles,
                                        .credential = row.text(5),
                                        .expires_at = row.time(6)},
                            .used_at = row.time(7)});
    }
    return sessions;
}

Result<void> ConsoleSessionStorePostgres::insert(const console::StoredSession& stored) {
    const std::scoped_lock lock(mutex_);
    const console::ConsoleSession& session = stored.session;
    return database_.run(
        "INSERT INTO console_session (node, number, cookie_sha256, key_sha256, principal, roles, "
        "credential, expires_ms, used_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        node_, static_cast<std::int64_t>(session.number), stored.cookie, stored.key,
        session.principal, session.roles.to_text(), session.credential, session.expires_at,
        stored.used_at);
}

Result<void> ConsoleSessionStorePostgres::remove(std::span<const std::uint64_t> numbers) {
    Array ended;
    for (const std::uint64_t number : numbers) ended.add_number(static_cast<std::int64_t>(number));
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "DELETE FROM console_session WHERE node = $1 AND number = ANY($2::bigint[])", node_, ended);
}

Result<void> ConsoleSessionStorePostgres::record_uses(std::span<const console::SessionUse> uses) {
    Array numbers, times;
    for (const console::SessionUse& use : uses) {
        numbers.add_number(static_cast<std::int64_t>(use.number));
        times.add_number(to_unix_ms(use.at));
    }
    const std::scoped_lock lock(mutex_);
    return database_.run(
        "UPDATE console_session SET used_ms = u.at FROM unnest($2::bigint[], $3::bigint[]) "
        "u(number, at) WHERE node = $1 AND console_session.number = u.number",
        node_, numbers, times);
}

}  // namespace crab::store::postgres
