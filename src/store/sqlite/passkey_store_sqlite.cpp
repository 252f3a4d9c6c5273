#include "store/sqlite/passkey_store_sqlite.hpp"

#include <array>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kPasskeySchema{R"(
    CREATE TABLE console_passkey (
        id TEXT PRIMARY KEY,
        credential TEXT NOT NULL UNIQUE,
        rp_id TEXT NOT NULL,
        label TEXT NOT NULL,
        sign_count INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        used_ms INTEGER
    ) STRICT;
)"};

console::StoredPasskey read_passkey(const Statement& row) {
    return {.id = row.text(0),
            .credential = row.text(1),
            .rp_id = row.text(2),
            .label = row.text(3),
            .sign_count = static_cast<std::uint32_t>(row.integer(4)),
            .created_at = row.time(5),
            .used_at = row.optional_time(6)};
}

}  // namespace

Result<std::unique_ptr<PasskeyStoreSqlite>> PasskeyStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("console_passkeys", kPasskeySchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<PasskeyStoreSqlite>(new PasskeyStoreSqlite(std::move(*database)));
}

Result<std::optional<console::StoredPasskey>> PasskeyStoreSqlite::find(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, credential, rp_id, label, sign_count, created_ms, used_ms FROM console_passkey "
        "WHERE id = ?",
        id);
    if (!rows) return fail(std::move(rows.error()));
    const auto more = rows->step();
    if (!more) return fail(more.error());
    if (!*more) return std::nullopt;
    return read_passkey(*rows);
}

Result<std::vector<console::StoredPasskey>> PasskeyStoreSqlite::list() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT id, credential, rp_id, label, sign_count, created_ms, used_ms FROM console_passkey "
        "ORDER BY created_ms, id");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<console::StoredPasskey> passkeys;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return passkeys;
        passkeys.push_back(read_passkey(*rows));
    }
}

Result<void> PasskeyStoreSqlite::insert(const console::StoredPasskey& passkey) {
    const std::scoped_lock lock(mutex_);
    const auto inserted = database_.run(
        "INSERT INTO console_passkey (id, credential, rp_id, label, sign_count, created_ms, "
        "used_ms) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        passkey.id, passkey.credential, passkey.rp_id, passkey.label,
        static_cast<std::int64_t>(passkey.sign_count), passkey.created_at, passkey.used_at);
    if (!inserted) return inserted;
    if (database_.changes() == 1) return {};
    return fail(ErrorCode::kConflict, "this passkey is known already");
}

Result<void> PasskeyStoreSqlite::remove(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    return database_.run("DELETE FROM console_passkey WHERE id = ?", id);
}

Result<bool> PasskeyStoreSqlite::record_use(std::string_view id, std::uint32_t sign_count,
                                            SystemTime at) {
    const auto count = static_cast<std::int64_t>(sign_count);
    const std::scoped_lock lock(mutex_);
    const auto done = database_.run(
        "UPDATE console_passkey SET sign_count = ?, used_ms = ? "
        "WHERE id = ? AND (sign_count < ? OR (sign_count = 0 AND ? = 0))",
        count, at, id, count, count);
    if (!done) return fail(done.error());
    return database_.changes() == 1;
}

}  // namespace crab::store::sqlite
