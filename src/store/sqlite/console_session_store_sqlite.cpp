#include "store/sqlite/console_session_store_sqlite.hpp"

#include "base/encoding.hpp"

#include <algorithm>
#include <array>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kConsoleSessionSchema{R"(
    CREATE TABLE console_session (
        number INTEGER PRIMARY KEY,
        cookie_sha256 TEXT NOT NULL UNIQUE,
        key_sha256 TEXT NOT NULL,
        principal TEXT NOT NULL,
        roles TEXT NOT NULL,
        credential TEXT NOT NULL,
        expires_ms INTEGER NOT NULL,
        used_ms INTEGER NOT NULL
    ) STRICT;
)"};

Result<crypto::Sha256Digest> read_digest(std::string_view hex) {
    const auto bytes = from_hex(hex);
    crypto::Sha256Digest digest{};
    if (!bytes || bytes->size() != digest.size())
        return fail(ErrorCode::kInternal, "a stored console session has no digest");
    std::ranges::copy(*bytes, digest.begin());
    return digest;
}

}  // namespace

Result<std::unique_ptr<ConsoleSessionStoreSqlite>> ConsoleSessionStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("console_sessions", kConsoleSessionSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<ConsoleSessionStoreSqlite>(
        new ConsoleSessionStoreSqlite(std::move(*database)));
}

Result<std::vector<console::StoredSession>> ConsoleSessionStoreSqlite::load_all() {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT number, cookie_sha256, key_sha256, principal, roles, credential, expires_ms, "
        "used_ms FROM console_session ORDER BY number");
    if (!rows) return fail(std::move(rows.error()));
    std::vector<console::StoredSession> sessions;
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return sessions;
        const auto cookie = read_digest(rows->text_view(1)), key = read_digest(rows->text_view(2));
        const auto roles = core::Roles::parse(rows->text_view(4));
        if (!cookie || !key || !roles) continue;  // it lets nobody in
        sessions.push_back({.cookie = *cookie,
                            .key = *key,
                            .session = {.number = static_cast<std::uint64_t>(rows->integer(0)),
                                        .principal = rows->text(3),
                                        .roles = *roles,
                                        .credential = rows->text(5),
                                        .expires_at = rows->time(6)},
                            .used_at = rows->time(7)});
    }
}

Result<void> ConsoleSessionStoreSqlite::insert(const console::StoredSession& stored) {
    const std::scoped_lock lock(mutex_);
    const console::ConsoleSession& session = stored.session;
    return database_.run(
        "INSERT INTO console_session (number, cookie_sha256, key_sha256, principal, roles, "
        "credential, expires_ms, used_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        static_cast<std::int64_t>(session.number), to_hex(stored.cookie), to_hex(stored.key),
        session.principal, session.roles.to_text(), session.credential, session.expires_at,
        stored.used_at);
}

Result<void> ConsoleSessionStoreSqlite::remove(std::span<const std::uint64_t> numbers) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const std::uint64_t number : numbers) {
            if (auto done = database_.run("DELETE FROM console_session WHERE number = ?",
                                          static_cast<std::int64_t>(number));
                !done)
                return done;
        }
        return {};
    });
}

Result<void> ConsoleSessionStoreSqlite::record_uses(std::span<const console::SessionUse> uses) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        for (const console::SessionUse& use : uses) {
            if (auto done = database_.run("UPDATE console_session SET used_ms = ? WHERE number = ?",
                                          use.at, static_cast<std::int64_t>(use.number));
                !done)
                return done;
        }
        return {};
    });
}

}  // namespace crab::store::sqlite
