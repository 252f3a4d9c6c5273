#include "store/postgres/passkey_store_postgres.hpp"

namespace crab::store::postgres {
namespace {

console::StoredPasskey read_passkey(const Rows::Row& row) {
    return {.id = row.text(0),
            .credential = row.text(1),
            .rp_id = row.text(2),
            .label = row.text(3),
            .sign_count = static_cast<std::uint32_t>(row.integer(4)),
            .created_at = row.time(5),
            .used_at = row.optional_time(6)};
}

}  // namespace

Result<std::optional<console::StoredPasskey>> PasskeyStorePostgres::find(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, credential, rp_id, label, sign_count, created_ms, used_ms FROM console_passkey "
        "WHERE id = $1",
        id);
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    return read_passkey((*rows)[0]);
}

Result<std::vector<console::StoredPasskey>> PasskeyStorePostgres::list() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, credential, rp_id, label, sign_count, created_ms, used_ms FROM console_passkey "
        "ORDER BY created_ms, id");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<console::StoredPasskey> passkeys;
    for (const auto row : *rows) passkeys.push_back(read_passkey(row));
    return passkeys;
}

Result<void> PasskeyStorePostgres::insert(const console::StoredPasskey& passkey) {
    const std::scoped_lock lock(mutex_);
    const auto inserted = database_.query(
        "INSERT INTO console_passkey (id, credential, rp_id, label, sign_count, created_ms, "
        "used_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        passkey.id, passkey.credential, passkey.rp_id, passkey.label,
        static_cast<std::int64_t>(passkey.sign_count), passkey.created_at, passkey.used_at);
    if (!inserted) return fail(inserted.error());
    if (inserted->changed() == 1) return {};
    return fail(ErrorCode::kConflict, "this passkey is known already");
}

Result<void> PasskeyStorePostgres::remove(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM console_passkey WHERE id = $1", id);
}

Result<bool> PasskeyStorePostgres::record_use(std::string_view id, std::uint32_t sign_count,
                                              SystemTime at) {
    const std::scoped_lock lock(mutex_);
    const auto done = database_.query(
        "UPDATE console_passkey SET sign_count = $2, used_ms = $3 "
        "WHERE id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))",
        id, static_cast<std::int64_t>(sign_count), at);
    if (!done) return fail(done.error());
    return done->changed() == 1;
}

}  // namespace crab::store::postgres
