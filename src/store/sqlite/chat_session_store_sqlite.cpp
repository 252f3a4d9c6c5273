#include "store/sqlite/chat_session_store_sqlite.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

constexpr std::array<std::string_view, 5> kChatSessionSchema{
    R"(
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
)",
    R"(
    ALTER TABLE chat_message ADD COLUMN turn TEXT NOT NULL DEFAULT '';
    ALTER TABLE chat_message ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
)",
    R"(
    CREATE TABLE chat_draft (
        session TEXT PRIMARY KEY REFERENCES chat_session (id) ON DELETE CASCADE,
        turn TEXT NOT NULL,
        content TEXT NOT NULL,
        created_ms INTEGER NOT NULL
    ) STRICT;
    UPDATE chat_session SET message_count = (SELECT count(*) FROM chat_message WHERE session = id )"
    R"(AND (content <> '' OR role = 'user'));
)",
    R"(
    CREATE TABLE chat_picture (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL REFERENCES chat_session (id) ON DELETE CASCADE,
        mime_type TEXT NOT NULL,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        size INTEGER NOT NULL,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE INDEX chat_picture_session ON chat_picture (session, created_ms);
)",
    "ALTER TABLE chat_message ADD COLUMN display TEXT NOT NULL DEFAULT ''"};

/// core::is_shown() of a chat_message.
constexpr std::string_view kIsShown = "(content <> '' OR role = 'user')";

core::ChatSession session_of(const Statement& row) {
    return {.id = ChatSessionId(row.text(0)),
            .owner = row.text(1),
            .name = row.text(2),
            .persona = row.text(3),
            .created_at = row.time(4),
            .last_activity = row.time(5),
            .message_count = static_cast<std::uint64_t>(row.integer(6))};
}

constexpr std::string_view kMessageColumns = "role, content, created_ms, extra, turn, outcome";

/// Of the columns above, and perhaps `display`.
core::ChatMessage message_of(const Statement& row, std::string display = {}) {
    return {.role = row.text(0),
            .content = row.text(1),
            .created_at = row.time(2),
            .extra = row.text(3),
            .turn = row.text(4),
            .outcome = row.text(5),
            .display = std::move(display)};
}

}  // namespace

Result<std::unique_ptr<ChatSessionStoreSqlite>> ChatSessionStoreSqlite::open(
    const std::filesystem::path& path, DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto migrated = database->migrate("chat", kChatSessionSchema); !migrated)
        return fail(std::move(migrated.error()));
    return std::unique_ptr<ChatSessionStoreSqlite>(
        new ChatSessionStoreSqlite(std::move(*database)));
}

Result<std::optional<core::ChatSession>> ChatSessionStoreSqlite::read(const ChatSessionId& id) {
    auto statement = database_.query(
        "SELECT id, owner, name, persona, created_ms, active_ms, message_count FROM chat_session "
        "WHERE id = ?",
        id.text());
    if (!statement) return fail(std::move(statement.error()));
    const auto row = statement->step();
    if (!row) return fail(row.error());
    if (!*row) return std::nullopt;
    return session_of(*statement);
}

/// `done` was an UPDATE of one session: without a changed row there was none.
Result<void> ChatSessionStoreSqlite::require_changed(Result<void> done) const {
    if (done && database_.changes() == 0)
        return fail(ErrorCode::kNotFound, "no such chat session: open it first");
    return done;
}

/// Makes the session unless there is one of its id; whether it did.
Result<bool> ChatSessionStoreSqlite::make(const core::NewChatSession& wanted) {
    if (!core::is_chat_session_id(wanted.id.text()))
        return fail(ErrorCode::kInvalidArgs, "session_id must be 1-128 of [A-Za-z0-9._-]");
    if (wanted.owner.empty()) return fail(ErrorCode::kInvalidArgs, "a chat session needs an owner");
    auto made = database_.run(
        "INSERT INTO chat_session (id, owner, name, persona, created_ms, active_ms, message_count) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0)"
        " ON CONFLICT (id) DO NOTHING",
        wanted.id.text(), wanted.owner, wanted.name, wanted.persona, wanted.created_at);
    if (!made) return fail(std::move(made.error()));
    const bool created = database_.changes() != 0;
    if (!created && !wanted.name.empty()) {
        auto named = database_.run(
            "UPDATE chat_session SET name = ? WHERE id = ? AND owner = ? AND name = ''",
            wanted.name, wanted.id.text(), wanted.owner);
        if (!named) return fail(std::move(named.error()));
    }
    return created;
}

Result<core::OpenedChatSession> ChatSessionStoreSqlite::open(const core::NewChatSession& wanted) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<core::OpenedChatSession> {
        const auto created = make(wanted);
        if (!created) return fail(created.error());
        auto session = read(wanted.id);
        if (!session) return fail(std::move(session.error()));
        return core::OpenedChatSession{.session = std::move(session->value()), .created = *created};
    });
}

Result<std::optional<core::ChatSession>> ChatSessionStoreSqlite::find(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    return read(id);
}

Result<std::vector<core::ChatSession>> ChatSessionStoreSqlite::list(std::string_view owner) {
    const std::scoped_lock lock(mutex_);
    auto statement = database_.query(
        "SELECT id, owner, name, persona, created_ms, active_ms, message_count FROM chat_session "
        "WHERE owner = ? ORDER BY active_ms DESC, id",
        owner);
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
    return require_changed(
        database_.run("UPDATE chat_session SET name = ? WHERE id = ?", name, id.text()));
}

Result<bool> ChatSessionStoreSqlite::remove(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    auto removed = database_.run("DELETE FROM chat_session WHERE id = ?", id.text());
    if (!removed) return fail(std::move(removed.error()));
    return database_.changes() != 0;
}

Result<void> ChatSessionStoreSqlite::append(const core::NewChatSession& session,
                                            const core::ChatMessage& message) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (const auto made = make(session); !made) return fail(made.error());
        const std::int64_t shown = core::is_shown(message.role, message.content) ? 1 : 0;
        auto counted = database_.run(
            "UPDATE chat_session SET active_ms = ?, message_count = message_count + ? WHERE id = ? "
            "AND owner = ?",
            message.created_at, shown, session.id.text(), session.owner);
        if (!counted) return counted;
        if (database_.changes() == 0)
            return fail(ErrorCode::kForbidden, "the chat session is another's");
        auto added = database_.run(
            "INSERT INTO chat_message (session, role, content, created_ms, extra, turn, outcome, "
            "display) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            session.id.text(), message.role, message.content, message.created_at, message.extra,
            message.turn, message.outcome, message.display);
        return added && message.role == "assistant" ? drop_draft(session.id) : added;
    });
}

Result<void> ChatSessionStoreSqlite::drop_draft(const ChatSessionId& id) {
    return database_.run("DELETE FROM chat_draft WHERE session = ?", id.text());
}

Result<void> ChatSessionStoreSqlite::make_own(const core::NewChatSession& wanted) {
    if (const auto made = make(wanted); !made) return fail(made.error());
    const auto known = read(wanted.id);
    if (!known) return fail(known.error());
    if ((*known)->owner != wanted.owner)
        return fail(ErrorCode::kForbidden, "the chat session is another's");
    return {};
}

Result<void> ChatSessionStoreSqlite::keep_draft(const core::NewChatSession& session,
                                                const core::ChatDraft& draft) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto own = make_own(session); !own) return own;
        return database_.run(
            "INSERT OR REPLACE INTO chat_draft (session, turn, content, created_ms) VALUES (?, ?, "
            "?, ?)",
            session.id.text(), draft.turn, draft.content, draft.created_at);
    });
}

Result<void> ChatSessionStoreSqlite::expect_room(const core::NewChatSession& session,
                                                 std::uint64_t bytes) {
    auto held = database_.query(
        "SELECT (SELECT count(*) FROM chat_picture WHERE session = ?1), (SELECT "
        "coalesce(sum(size), 0) FROM chat_picture"
        " JOIN chat_session ON chat_session.id = chat_picture.session WHERE owner = ?2)",
        session.id.text(), session.owner);
    if (!held) return fail(std::move(held.error()));
    if (const auto row = held->step(); !row) return fail(row.error());
    if (static_cast<std::size_t>(held->integer(0)) >= core::kMostSessionPictures)
        return fail(ErrorCode::kRateLimited,
                    "this chat session has as many pictures as it may have");
    if (static_cast<std::uint64_t>(held->integer(1)) + bytes > core::kMostOwnerPictureBytes) {
        return fail(
            ErrorCode::kRateLimited,
            "there is no room for more of your pictures; delete chat sessions that have some");
    }
    return {};
}

Result<void> ChatSessionStoreSqlite::keep_picture(const core::NewChatSession& session,
                                                  const core::Picture& picture,
                                                  std::string_view bytes, SystemTime now) {
    constexpr std::chrono::hours kUnsent{24};
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto own = make_own(session); !own) return own;
        auto forgotten = database_.run(
            "DELETE FROM chat_picture WHERE session = ? AND created_ms < ? AND NOT EXISTS (SELECT "
            "1 FROM chat_message"
            " WHERE chat_message.session = chat_picture.session AND instr(chat_message.extra, "
            "chat_picture.id) > 0)",
            session.id.text(), now - kUnsent);
        if (!forgotten) return forgotten;
        if (auto room = expect_room(session, bytes.size()); !room) return room;
        const std::span<const std::uint8_t> blob(
            reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        return database_.run(
            "INSERT INTO chat_picture (id, session, mime_type, width, height, created_ms, size, "
            "bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            picture.id, session.id.text(), picture.mime_type, std::int64_t{picture.width},
            std::int64_t{picture.height}, now, static_cast<std::int64_t>(bytes.size()), blob);
    });
}

Result<std::optional<core::StoredPicture>> ChatSessionStoreSqlite::find_picture(
    const ChatSessionId& id, std::string_view picture) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT mime_type, width, height, bytes FROM chat_picture WHERE id = ? AND session = ?",
        picture, id.text());
    if (!rows) return fail(std::move(rows.error()));
    const auto row = rows->step();
    if (!row) return fail(row.error());
    if (!*row) return std::nullopt;
    const auto blob = rows->bytes(3);
    return core::StoredPicture{
        .picture = {.id = std::string(picture),
                    .mime_type = rows->text(0),
                    .bytes = blob.size(),
                    .width = static_cast<std::uint32_t>(rows->integer(1)),
                    .height = static_cast<std::uint32_t>(rows->integer(2))},
        .bytes = std::string(reinterpret_cast<const char*>(blob.data()), blob.size())};
}

Result<std::vector<core::ChatMessage>> ChatSessionStoreSqlite::messages(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {}, display FROM chat_message WHERE session = ? ORDER BY number",
                    kMessageColumns),
        id.text());
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::ChatMessage> messages;
    for (;;) {
        const auto row = rows->step();
        if (!row) return fail(row.error());
        if (!*row) return messages;
        messages.push_back(message_of(*rows, rows->text(6)));
    }
}

Result<std::vector<core::ChatMessage>> ChatSessionStoreSqlite::latest(const ChatSessionId& id,
                                                                      std::size_t most_bytes) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {} FROM chat_message WHERE session = ? ORDER BY number DESC",
                    kMessageColumns),
        id.text());
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::ChatMessage> messages;
    std::size_t whole = 0, bytes = 0;
    for (;;) {
        const auto row = rows->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        messages.push_back(message_of(*rows));
        bytes += messages.back().content.size() + messages.back().extra.size();
        if (whole > 0 && bytes > most_bytes) break;
        if (messages.back().role == "user") whole = messages.size();
    }
    messages.resize(whole);
    std::ranges::reverse(messages);
    return messages;
}

Result<std::optional<core::StoredTurn>> ChatSessionStoreSqlite::find_turn(const ChatSessionId& id,
                                                                          std::string_view turn) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT content, outcome, created_ms FROM chat_message WHERE session = ? AND turn = ? AND "
        "role = 'assistant' ORDER BY number",
        id.text(), turn);
    if (!rows) return fail(std::move(rows.error()));
    core::StoredTurn found;
    for (;;) {
        const auto row = rows->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        found.text += rows->text_view(0);
        found.outcome = rows->text(1);
        found.ended_at = rows->time(2);
    }
    if (found.outcome.empty()) return std::nullopt;
    return found;
}

/// What was being said when the process ended becomes a message.
Result<std::uint64_t> ChatSessionStoreSqlite::close_drafts(std::string_view note) {
    auto added = database_.run(
        "INSERT INTO chat_message (session, role, content, created_ms, extra, turn) SELECT "
        "session, 'assistant', content || char(10) || ?, created_ms, '', turn FROM chat_draft",
        note);
    if (!added) return fail(std::move(added.error()));
    const auto closed = static_cast<std::uint64_t>(database_.changes());
    if (auto dropped = database_.run("DELETE FROM chat_draft"); !dropped)
        return fail(std::move(dropped.error()));
    return closed;
}

Result<std::uint64_t> ChatSessionStoreSqlite::close_unanswered(std::string_view note,
                                                               SystemTime now) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::uint64_t> {
        const auto drafts = close_drafts(note);
        if (!drafts) return drafts;
        auto added = database_.run(
            "INSERT INTO chat_message (session, role, content, created_ms, extra) SELECT id, "
            "'assistant', ?, ?, '' FROM chat_session WHERE"
            " (SELECT role || extra FROM chat_message WHERE session = id ORDER BY number DESC "
            "LIMIT 1) <> 'assistant'",
            note, now);
        if (!added) return fail(std::move(added.error()));
        const auto closed = *drafts + static_cast<std::uint64_t>(database_.changes());
        if (closed == 0) return closed;
        auto counted =
            database_.run(fmt::format("UPDATE chat_session SET message_count = (SELECT count(*) "
                                      "FROM chat_message WHERE session = id AND {})",
                                      kIsShown));
        if (!counted) return fail(std::move(counted.error()));
        return closed;
    });
}

Result<void> ChatSessionStoreSqlite::count(const ChatSessionId& id) {
    return database_.run(fmt::format("UPDATE chat_session SET message_count = (SELECT count(*) "
                                     "FROM chat_message WHERE session = id AND {}) WHERE id = ?",
                                     kIsShown),
                         id.text());
}

Result<std::optional<core::ReopenedQuestion>> ChatSessionStoreSqlite::reopen(
    const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::optional<core::ReopenedQuestion>> {
        auto question = database_.query(
            "SELECT number, content FROM chat_message WHERE session = ? AND role = 'user' ORDER BY "
            "number DESC LIMIT 1",
            id.text());
        if (!question) return fail(std::move(question.error()));
        const auto row = question->step();
        if (!row) return fail(row.error());
        if (!*row) return std::nullopt;
        core::ReopenedQuestion reopened{.content = question->text(1)};
        auto dropped = database_.run("DELETE FROM chat_message WHERE session = ? AND number > ?",
                                     id.text(), question->integer(0));
        question->reset();
        if (dropped) dropped = drop_draft(id);
        if (dropped) dropped = count(id);
        if (!dropped) return fail(std::move(dropped.error()));
        const auto session = read(id);
        if (!session) return fail(session.error());
        reopened.message_count = (*session)->message_count;
        return reopened;
    });
}

}  // namespace crab::store::sqlite
