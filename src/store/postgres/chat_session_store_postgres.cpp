#include "store/postgres/chat_session_store_postgres.hpp"

#include "base/encoding.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crab::store::postgres {
namespace {

constexpr std::string_view kSessionColumns =
    "id, owner, name, persona, created_ms, active_ms, message_count";
constexpr std::string_view kMessageColumns = "role, content, created_ms, extra, turn, outcome";
/// core::is_shown() of a chat_message.
constexpr std::string_view kIsShown = "(content <> '' OR role = 'user')";

core::ChatSession session_of(const Rows::Row& row) {
    return {.id = ChatSessionId(row.text(0)),
            .owner = row.text(1),
            .name = row.text(2),
            .persona = row.text(3),
            .created_at = row.time(4),
            .last_activity = row.time(5),
            .message_count = static_cast<std::uint64_t>(row.integer(6))};
}

/// Of the columns above, and perhaps `display`.
core::ChatMessage message_of(const Rows::Row& row, std::string display = {}) {
    return {.role = row.text(0),
            .content = row.text(1),
            .created_at = row.time(2),
            .extra = row.text(3),
            .turn = row.text(4),
            .outcome = row.text(5),
            .display = std::move(display)};
}

/// That the process which has claimed the session `s` has ended, or was fenced off.
constexpr std::string_view kIsLeft =
    "s.node IS NOT NULL AND NOT EXISTS (SELECT FROM node n WHERE n.number = s.node AND "
    "n.incarnation = s.incarnation AND n.state IN ('live', 'draining'))";

std::unexpected<Error> another_goes_on() {
    return fail(
        ErrorCode::kConflict,
        "another gateway of this fleet answers in this chat session; ask again when it has");
}

std::unexpected<Error> not_theirs() {
    return fail(ErrorCode::kForbidden, "the chat session is another's");
}

}  // namespace

Result<std::optional<core::ChatSession>> ChatSessionStorePostgres::read(Connection& database,
                                                                        const ChatSessionId& id) {
    auto rows = database.query(
        fmt::format("SELECT {} FROM chat_session WHERE id = $1", kSessionColumns), id.text());
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    return session_of((*rows)[0]);
}

/// Whether it made one.
Result<bool> ChatSessionStorePostgres::make(const core::NewChatSession& wanted) {
    if (!core::is_chat_session_id(wanted.id.text()))
        return fail(ErrorCode::kInvalidArgs, "session_id must be 1-128 of [A-Za-z0-9._-]");
    if (wanted.owner.empty()) return fail(ErrorCode::kInvalidArgs, "a chat session needs an owner");
    auto made = database_.query(
        "INSERT INTO chat_session (id, owner, name, persona, created_ms, active_ms, message_count) "
        "VALUES ($1, $2, $3, $4, $5, $5, 0) ON CONFLICT (id) DO NOTHING",
        wanted.id.text(), wanted.owner, wanted.name, wanted.persona, wanted.created_at);
    if (!made) return fail(std::move(made.error()));
    const bool created = made->changed() != 0;
    if (!created && !wanted.name.empty()) {
        auto named = database_.run(
            "UPDATE chat_session SET name = $1 WHERE id = $2 AND owner = $3 AND name = ''",
            wanted.name, wanted.id.text(), wanted.owner);
        if (!named) return fail(std::move(named.error()));
    }
    return created;
}

Result<core::OpenedChatSession> ChatSessionStorePostgres::open(const core::NewChatSession& wanted) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<core::OpenedChatSession> {
        const auto created = make(wanted);
        if (!created) return fail(created.error());
        auto session = read(database_, wanted.id);
        if (!session) return fail(std::move(session.error()));
        if (!*session)  // removed by another node in between
            return fail(ErrorCode::kUnavailable, "the chat session is being removed: repeat");
        return core::OpenedChatSession{.session = std::move(**session), .created = *created};
    });
}

ConnectionOptions ChatSessionStorePostgres::for_loops(ConnectionOptions options) {
    options.limit = std::chrono::seconds(2);
    return options;
}

Result<std::optional<core::ChatSession>> ChatSessionStorePostgres::find(const ChatSessionId& id) {
    if (!self_) {
        const std::scoped_lock lock(mutex_);
        return read(database_, id);
    }
    constexpr std::chrono::seconds kLeftAlone{10};
    const std::scoped_lock lock(finding_mutex_);
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now < find_again_at_)
        return fail(ErrorCode::kUnavailable, "database: not available: repeat later");
    auto found = read(finding_, id);
    if (!found && finding_.is_lost()) find_again_at_ = now + kLeftAlone;
    return found;
}

Result<std::vector<core::ChatSession>> ChatSessionStorePostgres::list(std::string_view owner) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {} FROM chat_session WHERE owner = $1 ORDER BY active_ms DESC, id",
                    kSessionColumns),
        owner);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::ChatSession> sessions;
    for (const auto row : *rows) sessions.push_back(session_of(row));
    return sessions;
}

Result<void> ChatSessionStorePostgres::rename(const ChatSessionId& id, std::string_view name) {
    const std::scoped_lock lock(mutex_);
    auto done = database_.query("UPDATE chat_session SET name = $1 WHERE id = $2", name, id.text());
    if (!done) return fail(std::move(done.error()));
    if (done->changed() == 0)
        return fail(ErrorCode::kNotFound, "no such chat session: open it first");
    return {};
}

Result<bool> ChatSessionStorePostgres::remove(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    auto removed = database_.query("DELETE FROM chat_session WHERE id = $1", id.text());
    if (!removed) return fail(std::move(removed.error()));
    return removed->changed() != 0;
}

Result<void> ChatSessionStorePostgres::append(const core::NewChatSession& session,
                                              const core::ChatMessage& message) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (const auto made = make(session); !made) return fail(made.error());
        if (auto claimed = expect_claim(session.id); !claimed) return claimed;
        if (auto marked = mark(session.id, message); !marked) return marked;
        const int shown = core::is_shown(message.role, message.content) ? 1 : 0;
        auto counted = database_.query(
            "UPDATE chat_session SET active_ms = $1, message_count = message_count + $2 WHERE id = "
            "$3 AND owner = $4",
            message.created_at, shown, session.id.text(), session.owner);
        if (!counted) return fail(std::move(counted.error()));
        if (counted->changed() == 0) return not_theirs();
        auto added = database_.run(
            "INSERT INTO chat_message (session, role, content, created_ms, extra, turn, outcome, "
            "display) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            session.id.text(), message.role, message.content, message.created_at, message.extra,
            message.turn, message.outcome, message.display);
        return added && message.role == "assistant" ? drop_draft(session.id) : added;
    });
}

Result<void> ChatSessionStorePostgres::drop_draft(const ChatSessionId& id) {
    return database_.run("DELETE FROM chat_draft WHERE session = $1", id.text());
}

Result<void> ChatSessionStorePostgres::make_own(const core::NewChatSession& wanted) {
    if (const auto made = make(wanted); !made) return fail(made.error());
    auto known = database_.query("SELECT owner FROM chat_session WHERE id = $1 FOR UPDATE",
                                 wanted.id.text());
    if (!known) return fail(std::move(known.error()));
    if (known->count() == 0 || (*known)[0].text_view(0) != wanted.owner) return not_theirs();
    return {};
}

Result<void> ChatSessionStorePostgres::keep_draft(const core::NewChatSession& session,
                                                  const core::ChatDraft& draft) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto own = make_own(session); !own) return own;
        if (auto claimed = expect_claim(session.id); !claimed) return claimed;
        return database_.run(
            "INSERT INTO chat_draft (session, turn, content, created_ms) VALUES ($1, $2, $3, $4) "
            "ON CONFLICT (session) DO UPDATE SET turn = $2, content = $3, created_ms = $4",
            session.id.text(), draft.turn, draft.content, draft.created_at);
    });
}

/// Pictures of one owner are counted by one node at a time.
Result<void> ChatSessionStorePostgres::expect_room(const core::NewChatSession& session,
                                                   std::uint64_t bytes) {
    auto locked = database_.run(
        "SELECT pg_advisory_xact_lock(hashtextextended('pictures ' || $1, 0))", session.owner);
    if (!locked) return locked;
    auto held = database_.query(
        "SELECT (SELECT count(*) FROM chat_picture WHERE session = $1), (SELECT "
        "coalesce(sum(size), 0) FROM chat_picture JOIN chat_session ON chat_session.id = "
        "chat_picture.session WHERE owner = $2)",
        session.id.text(), session.owner);
    if (!held) return fail(std::move(held.error()));
    const auto row = (*held)[0];
    if (static_cast<std::size_t>(row.integer(0)) >= core::kMostSessionPictures)
        return fail(ErrorCode::kRateLimited,
                    "this chat session has as many pictures as it may have");
    if (static_cast<std::uint64_t>(row.integer(1)) + bytes > core::kMostOwnerPictureBytes)
        return fail(
            ErrorCode::kRateLimited,
            "there is no room for more of your pictures; delete chat sessions that have some");
    return {};
}

Result<void> ChatSessionStorePostgres::keep_picture(const core::NewChatSession& session,
                                                    const core::Picture& picture,
                                                    std::string_view bytes, SystemTime now) {
    constexpr std::chrono::hours kUnsent{24};
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<void> {
        if (auto own = make_own(session); !own) return own;
        auto forgotten = database_.run(
            "DELETE FROM chat_picture p WHERE session = $1 AND created_ms < $2 AND NOT EXISTS "
            "(SELECT FROM chat_message m WHERE m.session = p.session AND position(p.id IN m.extra) "
            "> 0)",
            session.id.text(), now - kUnsent);
        if (!forgotten) return forgotten;
        if (auto room = expect_room(session, bytes.size()); !room) return room;
        return database_.run(
            "INSERT INTO chat_picture (id, session, mime_type, width, height, created_ms, size, "
            "bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            picture.id, session.id.text(), picture.mime_type, picture.width, picture.height, now,
            bytes.size(), bytes_of(bytes));
    });
}

Result<std::optional<core::StoredPicture>> ChatSessionStorePostgres::find_picture(
    const ChatSessionId& id, std::string_view picture) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT mime_type, width, height, bytes FROM chat_picture WHERE id = $1 AND session = $2",
        picture, id.text());
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0) return std::nullopt;
    const auto row = (*rows)[0];
    std::string bytes = row.bytes(3);
    return core::StoredPicture{.picture = {.id = std::string(picture),
                                           .mime_type = row.text(0),
                                           .bytes = bytes.size(),
                                           .width = static_cast<std::uint32_t>(row.integer(1)),
                                           .height = static_cast<std::uint32_t>(row.integer(2))},
                               .bytes = std::move(bytes)};
}

Result<std::vector<core::ChatMessage>> ChatSessionStorePostgres::messages(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {}, display FROM chat_message WHERE session = $1 ORDER BY number",
                    kMessageColumns),
        id.text());
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::ChatMessage> messages;
    for (const auto row : *rows) messages.push_back(message_of(row, row.text(6)));
    return messages;
}

// Sent are those that may fit, and the last turn.
Result<std::vector<core::ChatMessage>> ChatSessionStorePostgres::latest(const ChatSessionId& id,
                                                                        std::size_t most_bytes) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        fmt::format("SELECT {0} FROM (SELECT *, sum(octet_length(content) + octet_length(extra)) "
                    "OVER (ORDER BY number DESC) AS total FROM chat_message WHERE session = $1) m "
                    "WHERE total <= $2 OR number >= (SELECT max(number) FROM chat_message WHERE "
                    "session = $1 AND role = 'user') ORDER BY number DESC",
                    kMessageColumns),
        id.text(), most_bytes);
    if (!rows) return fail(std::move(rows.error()));
    std::vector<core::ChatMessage> messages;
    std::size_t whole = 0, bytes = 0;
    for (const auto row : *rows) {
        messages.push_back(message_of(row));
        bytes += messages.back().content.size() + messages.back().extra.size();
        if (whole > 0 && bytes > most_bytes) break;
        if (messages.back().role == "user") whole = messages.size();
    }
    messages.resize(whole);
    std::ranges::reverse(messages);
    return messages;
}

Result<std::optional<core::StoredTurn>> ChatSessionStorePostgres::find_turn(const ChatSessionId& id,
                                                                            std::string_view turn) {
    const std::scoped_lock lock(mutex_);
    auto rows = database_.query(
        "SELECT content, outcome, created_ms FROM chat_message WHERE session = $1 AND turn = $2 "
        "AND role = 'assistant' ORDER BY number",
        id.text(), turn);
    if (!rows) return fail(std::move(rows.error()));
    core::StoredTurn found;
    for (const auto row : *rows) {
        found.text += row.text_view(0);
        found.outcome = row.text(1);
        found.ended_at = row.time(2);
    }
    if (found.outcome.empty()) return std::nullopt;
    return found;
}

/// The number of this process's claim; 0: it has none.
std::int64_t ChatSessionStorePostgres::claim_on(const ChatSessionId& id) const {
    const auto found = claims_.find(id.text());
    return found == claims_.end() ? 0 : found->second;
}

/// Whoever has claimed the session adds to it only until another one has. In a transaction.
Result<void> ChatSessionStorePostgres::expect_claim(const ChatSessionId& id) {
    const std::int64_t claim = claim_on(id);
    if (claim == 0) return {};
    auto rows =
        database_.query("SELECT claim FROM chat_session WHERE id = $1 FOR UPDATE", id.text());
    if (!rows) return fail(std::move(rows.error()));
    if (rows->count() == 0 || (*rows)[0].integer(0) != claim) return another_goes_on();
    return {};
}

/// Turns that events start claim nothing: their first word says whose they are, and their last one
/// that they are over, so that what a node has left is found.
Result<void> ChatSessionStorePostgres::mark(const ChatSessionId& id,
                                            const core::ChatMessage& message) {
    if (!self_ || claim_on(id) != 0) return {};
    const NodeClaim self = self_();
    if (message.role == "user")
        return database_.run(
            fmt::format("UPDATE chat_session s SET node = $2, incarnation = $3, claim = claim + 1 "
                        "WHERE id = $1 AND (node IS NULL OR {})",
                        kIsLeft),
            id.text(), self.number, self.incarnation);
    if (message.outcome.empty()) return {};
    return database_.run(
        "UPDATE chat_session SET node = NULL, incarnation = NULL WHERE id = $1 AND node = $2",
        id.text(), self.number);
}

/// In a transaction that has locked the session.
Result<std::int64_t> ChatSessionStorePostgres::take_claim(const ChatSessionId& id, SystemTime now) {
    const NodeClaim self = self_();
    auto rows = database_.query(
        fmt::format("SELECT node IS NOT NULL AND (node <> $2 OR incarnation <> $3), {} FROM "
                    "chat_session s WHERE id = $1",
                    kIsLeft),
        id.text(), self.number, self.incarnation);
    if (!rows) return fail(std::move(rows.error()));
    const bool is_anothers = (*rows)[0].boolean(0), is_left = (*rows)[0].boolean(1);
    if (is_anothers && !is_left) return another_goes_on();
    if (is_left) {
        Array session;
        session.add(id.text());
        if (auto closed = close(&session, core::kUnanswered, now); !closed)
            return fail(std::move(closed.error()));
    }
    auto claimed = database_.query(
        "UPDATE chat_session SET node = $2, incarnation = $3, claim = claim + 1 WHERE id = $1 "
        "RETURNING claim",
        id.text(), self.number, self.incarnation);
    if (!claimed) return fail(std::move(claimed.error()));
    return (*claimed)[0].integer(0);
}

Result<core::ChatSession> ChatSessionStorePostgres::claim(const core::NewChatSession& session,
                                                          SystemTime now) {
    if (!self_) return ChatSessionStore::claim(session, now);
    const std::scoped_lock lock(mutex_);
    std::int64_t number = 0;
    auto claimed = database_.transaction([&]() -> Result<core::ChatSession> {
        if (auto own = make_own(session); !own) return fail(std::move(own.error()));
        const auto taken = take_claim(session.id, now);
        if (!taken) return fail(taken.error());
        number = *taken;
        auto now_there = read(database_, session.id);
        if (!now_there) return fail(std::move(now_there.error()));
        return std::move(**now_there);
    });
    if (claimed) claims_.insert_or_assign(session.id.text(), number);
    return claimed;
}

Result<void> ChatSessionStorePostgres::release(const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    const std::int64_t claim = claim_on(id);
    if (claim == 0) return {};
    auto released = database_.run(
        "UPDATE chat_session SET node = NULL, incarnation = NULL WHERE id = $1 AND claim = $2",
        id.text(), claim);
    if (released) claims_.erase(claims_.find(id.text()));
    return released;
}

Result<std::uint64_t> ChatSessionStorePostgres::close_unanswered(std::string_view note,
                                                                 SystemTime now) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::uint64_t> {
        if (!self_) return close(nullptr, note, now);
        auto left = database_.query(
            fmt::format("SELECT id FROM chat_session s WHERE {} ORDER BY id FOR UPDATE", kIsLeft));
        if (!left) return fail(std::move(left.error()));
        Array sessions;
        for (const auto row : *left) sessions.add(row.text_view(0));
        auto closed = close(&sessions, note, now);
        if (!closed) return closed;
        auto released = database_.run(
            "UPDATE chat_session SET node = NULL, incarnation = NULL, claim = claim + 1 WHERE id = "
            "ANY ($1::text[])",
            sessions);
        if (!released) return fail(std::move(released.error()));
        return closed;
    });
}

Result<std::uint64_t> ChatSessionStorePostgres::close(const Array* which, std::string_view note,
                                                      SystemTime now) {
    const Array none;
    const Array& those = which != nullptr ? *which : none;
    auto drafts = database_.query(
        "WITH gone AS (DELETE FROM chat_draft WHERE $2 OR session = ANY ($3::text[]) RETURNING *) "
        "INSERT INTO chat_message (session, role, content, created_ms, extra, turn, outcome, "
        "display) SELECT session, 'assistant', content || E'\n' || $1, created_ms, '', turn, '', "
        "'' FROM gone RETURNING session",
        note, which == nullptr, those);
    if (!drafts) return fail(std::move(drafts.error()));
    auto others = database_.query(
        "INSERT INTO chat_message (session, role, content, created_ms, extra, turn, outcome, "
        "display) SELECT id, 'assistant', $1, $2, '', '', '', '' FROM chat_session WHERE ($3 OR id "
        "= ANY ($4::text[])) AND (SELECT role || extra FROM chat_message WHERE session = id ORDER "
        "BY number DESC LIMIT 1) <> 'assistant' RETURNING session",
        note, now, which == nullptr, those);
    if (!others) return fail(std::move(others.error()));
    Array sessions;
    for (const auto row : *drafts) sessions.add(row.text_view(0));
    for (const auto row : *others) sessions.add(row.text_view(0));
    auto counted = database_.run(
        fmt::format("UPDATE chat_session SET message_count = (SELECT count(*) FROM chat_message "
                    "WHERE session = id AND {}) WHERE id = ANY ($1::text[])",
                    kIsShown),
        sessions);
    if (!counted) return fail(std::move(counted.error()));
    return static_cast<std::uint64_t>(drafts->count() + others->count());
}

Result<std::optional<core::ReopenedQuestion>> ChatSessionStorePostgres::reopen(
    const ChatSessionId& id) {
    const std::scoped_lock lock(mutex_);
    return database_.transaction([&]() -> Result<std::optional<core::ReopenedQuestion>> {
        auto locked = database_.run("SELECT FROM chat_session WHERE id = $1 FOR UPDATE", id.text());
        if (!locked) return fail(std::move(locked.error()));
        if (auto claimed = expect_claim(id); !claimed) return fail(std::move(claimed.error()));
        auto question = database_.query(
            "SELECT number, content FROM chat_message WHERE session = $1 AND role = 'user' ORDER "
            "BY number DESC LIMIT 1",
            id.text());
        if (!question) return fail(std::move(question.error()));
        if (question->count() == 0) return std::nullopt;
        auto dropped = database_.run("DELETE FROM chat_message WHERE session = $1 AND number > $2",
                                     id.text(), (*question)[0].integer(0));
        if (dropped) dropped = drop_draft(id);
        if (!dropped) return fail(std::move(dropped.error()));
        auto counted = database_.query(
            fmt::format("UPDATE chat_session SET message_count = (SELECT count(*) FROM "
                        "chat_message WHERE session = id AND {}) WHERE id = $1 RETURNING "
                        "message_count",
                        kIsShown),
            id.text());
        if (!counted) return fail(std::move(counted.error()));
        return core::ReopenedQuestion{
            .content = (*question)[0].text(1),
            .message_count = static_cast<std::uint64_t>((*counted)[0].integer(0))};
    });
}

}  // namespace crab::store::postgres
