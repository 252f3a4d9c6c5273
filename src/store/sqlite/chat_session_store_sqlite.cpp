#include "store/sqlite/chat_session_store_sqlite.hpp"

#include <array>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 1> kSchema{R"(
    CREATE TABLE chat_session (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        persona TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        active_ms INTEGER NOT NULL,
        message_count INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX chat_session_owner ON chat_session (owner, active_ms);
    CREATE TABLE chat_message (
        number INTEGER PRIMARY KEY,
        session TEXT NOT NULL REFERENCES chat_session (id) ON DELETE CASCADE,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        extra TEXT NOT NULL
    ) STRICT;
    CREATE INDEX chat_message_session ON chat_message (session, number);
)"};

core::ChatSession session_of(const Statement& row) {
    return {.id = ChatSessionId(row.text(0)), .owner = row.text(1), .name = row.text(2), .persona = row.text(3), .created_at = row.time(4),
            .last_activity = row.time(5), .message_count = static_cast<std::uint64_t>(row.integer(6))};
}

}  // namespace

Result<std::unique_ptr<ChatSessionStoreSqlite>> ChatSessionStoreSqlite::open(const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("chat", kSchema); !migrated) return fail(std::move(migrated.error()));
    return std::unique_ptr<ChatSessionStoreSqlite>(new ChatSessionStoreSqlite(std::move(*database)));
}

Result<std::optional<core::ChatSession>> ChatSessionStoreSqlite::read(const ChatSessionId& id) {
    auto statement = database_.query("SELECT id, owner, name, persona, created_ms, active_ms, message_count FROM chat_session WHERE id = ?", id.text());
    if (!statement) return fail(std::move(statement.error()));
    const auto row = statement->step();
    if (!row) return fail(row.error());
    if (!*row) return std::nullopt;
    return session_of(*statement);
}

/// `done` was an UPDATE of one session: without a changed row there was none.
Result<void> ChatSessionStoreSqlite::require_changed(Result<void> done) const {
    if (done && database_.changes() == 0) return fail(ErrorCode::kNotFound, "no such chat session: open it first");
    return done;
}

Result<core::OpenedChatSession> ChatSessionStoreSqlite::open(const core::NewChatSession& wanted) {
    if (!core::is_chat_session_id(wanted.id.text())) return fail(ErrorCode::kInvalidArgs, "session_id must be 1-128 of [A-Za-z0-9._-]");
    if (wanted.owner.empty()) return fail(ErrorCode::kInvalidArgs, "a chat session needs an owner");
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<core::OpenedChatSession> {
        auto made = database_.run(
            "INSERT INTO chat_session (id, owner, name, persona, created_ms, active_ms, message_count) VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0)"
            " ON CONFLICT (id) DO NOTHING",
            wanted.id.text(), wanted.owner, wanted.name, wanted.persona, wanted.created_at);
        if (!made) return fail(std::move(made.error()));
        const bool created = database_.changes() != 0;
        if (!created && !wanted.name.empty()) {
            auto named = database_.run("UPDATE chat_session SET name = ? WHERE id = ? AND owner = ? AND name = ''", wanted.name, wanted.id.text(), wanted.owner);
            if (!named) return fail(std::move(named.error()));
        }
        auto session = read(wanted.id);
        if (!session) return fail(std::move(session.error()));
        return core::OpenedChatSession{.session = std::move(session->value()), .created = created};
    });
}

Result<std::optional<core::ChatSession>> ChatSessionStoreSqlite::find(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    return read(id);
}

Result<std::vector<core::ChatSession>> ChatSessionStoreSqlite::list(std::string_view owner) {
    const std::scoped_lock lock(mutex_);
    auto statement = database_.query(
        "SELECT id, owner, name, persona, created_ms, active_ms, message_count FROM chat_session WHERE owner = ? ORDER BY active_ms DESC, id", owner);
    if (!statement) return fail(std::move(statement.error()));
    std::vector<core::ChatSession> sessions;
    for (;;) {
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row) return sessions;
        sessions.push_back(session_of(*statement));
    }
}

Result<void> ChatSessionStoreSqlite::rename(const ChatSessionId& id, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    return require_changed(database_.run("UPDATE chat_session SET name = ? WHERE id = ?", name, id.text()));
}

Result<bool> ChatSessionStoreSqlite::remove(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    auto removed = database_.run("DELETE FROM chat_session WHERE id = ?", id.text());
    if (!removed) return fail(std::move(removed.error()));
    return database_.changes() != 0;
}

Result<void> ChatSessionStoreSqlite::append(const ChatSessionId& id, const core::ChatMessage& message) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        auto counted = require_changed(
            database_.run("UPDATE chat_session SET active_ms = ?, message_count = message_count + 1 WHERE id = ?", message.created_at, id.text()));
        if (!counted) return counted;
        return database_.run("INSERT INTO chat_message (session, role, content, created_ms, extra) VALUES (?, ?, ?, ?, ?)", id.text(), message.role,
                             message.content, message.created_at, message.extra);
    });
}

Result<std::vector<core::ChatMessage>> ChatSessionStoreSqlite::messages(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    auto statement = database_.query("SELECT role, content, created_ms, extra FROM chat_message WHERE session = ? ORDER BY number", id.text());
    if (!statement) return fail(std::move(statement.error()));
    std::vector<core::ChatMessage> messages;
    for (;;) {
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row) return messages;
        messages.push_back({.role = statement->text(0), .content = statement->text(1), .created_at = statement->time(2), .extra = statement->text(3)});
    }
}

Result<std::uint64_t> ChatSessionStoreSqlite::message_count(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    auto session = read(id);
    if (!session) return fail(std::move(session.error()));
    return *session ? (*session)->message_count : 0;
}

Result<std::uint64_t> ChatSessionStoreSqlite::close_unanswered(std::string_view note, SystemTime now) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::uint64_t> {
        auto added = database_.run(
            "INSERT INTO chat_message (session, role, content, created_ms, extra) SELECT id, 'assistant', ?, ?, '' FROM chat_session WHERE"
            " (SELECT role || extra FROM chat_message WHERE session = id ORDER BY number DESC LIMIT 1) <> 'assistant'",
            note, now);
        if (!added) return fail(std::move(added.error()));
        const auto closed = static_cast<std::uint64_t>(database_.changes());
        if (closed == 0) return closed;
        auto counted = database_.run("UPDATE chat_session SET message_count = (SELECT count(*) FROM chat_message WHERE session = id)");
        if (!counted) return fail(std::move(counted.error()));
        return closed;
    });
}

Result<void> ChatSessionStoreSqlite::truncate(const ChatSessionId& id, std::uint64_t count) {
    const auto keep = static_cast<std::int64_t>(count);
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        auto counted = require_changed(database_.run("UPDATE chat_session SET message_count = min(message_count, ?) WHERE id = ?", keep, id.text()));
        if (!counted) return counted;
        return database_.run(
            "DELETE FROM chat_message WHERE session = ?1 AND number IN"
            " (SELECT number FROM chat_message WHERE session = ?1 ORDER BY number LIMIT -1 OFFSET ?2)",
            id.text(), keep);
    });
}

}  // namespace crab::store::sqlite
