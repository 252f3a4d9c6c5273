#include "store/sqlite/memory_changes.hpp"

#include "store/memory/memory_identity.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace crab::store::sqlite {
namespace {

using memory::MemoryAppend;
using memory::MemoryDelete;
using memory::MemoryWrite;
using memory::MemoryWritten;

/// Rows of memory_entry are narrow, since ranking reads many of them; what a page shows is in
/// memory_content. memory_text holds no text, only the index (its words begin with the scope, see
/// memory_index.hpp). memory_change knows what was done under which key.
constexpr std::array<std::string_view, 1> kMemorySchema{R"(
    CREATE TABLE memory_scope (
        number INTEGER PRIMARY KEY,
        tenant TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        isolation_key TEXT NOT NULL,
        next_row INTEGER NOT NULL,
        entries INTEGER NOT NULL,
        words INTEGER NOT NULL,
        UNIQUE (tenant, agent_id, isolation_key)
    ) STRICT;
    CREATE TABLE memory_entry (
        row INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL,
        occurred_ms INTEGER NOT NULL,
        words INTEGER NOT NULL,
        entry_id TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE INDEX memory_by_time ON memory_entry (scope, occurred_ms);
    CREATE TABLE memory_content (
        row INTEGER PRIMARY KEY,
        created_ms INTEGER NOT NULL,
        tags TEXT NOT NULL,
        metadata TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT;
    CREATE TABLE memory_tag (
        scope INTEGER NOT NULL,
        tag TEXT NOT NULL,
        occurred_ms INTEGER NOT NULL,
        row INTEGER NOT NULL,
        PRIMARY KEY (scope, tag, occurred_ms, row)
    ) STRICT, WITHOUT ROWID;
    CREATE VIRTUAL TABLE memory_text USING fts5 (text, content = '', columnsize = 0,)"
                                                        R"( tokenize = 'crab_scoped');
    CREATE TABLE memory_change (
        number INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        content BLOB NOT NULL,
        at_ms INTEGER NOT NULL,
        operation_id TEXT NOT NULL,
        entry_ids TEXT NOT NULL,
        deleted INTEGER NOT NULL,
        not_found TEXT NOT NULL
    ) STRICT;
)"};

constexpr int kScopeShift = 32;   // a row is `scope << 32 | n`

}  // namespace

/// A scope as it is in the middle of a transaction.
struct MemoryChanges::Scope {
    std::int64_t number = 0, next_row = 0, entries = 0, words = 0;
};

struct MemoryChanges::Batch {
    struct Added {
        std::int64_t row;
        Scope* scope;
        const memory::NewMemory* entry;
        SystemTime at;
    };
    std::map<memory::MemoryScope, Scope> scopes;
    std::vector<Added> added;
};

/// Prepared once; each is reset when its rows have been read, so that none holds a snapshot open.
struct MemoryChanges::Statements {
    Statement find_change, insert_change, forget_changes;
    Statement find_scope, insert_scope, update_scope;
    Statement insert_entry, insert_content, insert_tag, index_text;
    Statement find_entry, read_entry, delete_entry, delete_content, delete_tags, unindex_text;

    Result<void> prepare(Database& database) {
        struct Item {
            Statement& statement;
            std::string_view sql;
        };
        const Item items[] = {
            {find_change,
             "SELECT content, operation_id, at_ms, entry_ids, deleted, not_found FROM "
             "memory_change WHERE key = ?"},
            {insert_change,
             "INSERT INTO memory_change (key, content, at_ms, operation_id, entry_ids, deleted, "
             "not_found) VALUES (?, ?, ?, ?, ?, ?, ?)"},
            {forget_changes,
             "DELETE FROM memory_change WHERE number IN (SELECT number FROM (SELECT number, at_ms "
             "FROM memory_change ORDER BY number LIMIT ?) WHERE at_ms < "
             "?)"},
            {find_scope,
             "SELECT number, next_row, entries, words FROM memory_scope WHERE tenant = ? AND "
             "agent_id = ? AND isolation_key = ?"},
            {insert_scope,
             "INSERT INTO memory_scope (tenant, agent_id, isolation_key, next_row, entries, words) "
             "VALUES (?, ?, ?, 0, 0, 0) RETURNING number"},
            {update_scope,
             "UPDATE memory_scope SET next_row = ?, entries = ?, words = ? WHERE number = ?"},
            {insert_entry,
             "INSERT INTO memory_entry (row, scope, occurred_ms, words, entry_id) VALUES (?, ?, ?, "
             "?, ?)"},
            {insert_content,
             "INSERT INTO memory_content (row, created_ms, tags, metadata, text) VALUES (?, ?, ?, "
             "?, ?)"},
            {insert_tag,
             "INSERT OR IGNORE INTO memory_tag (scope, tag, occurred_ms, row) SELECT ?, value, ?, "
             "? FROM json_each(?)"},
            {index_text, "INSERT INTO memory_text (rowid, text) VALUES (?, ?)"},
            {find_entry, "SELECT row FROM memory_entry WHERE entry_id = ? AND scope = ?"},
            {read_entry,
             "SELECT e.occurred_ms, e.words, c.tags, c.text FROM memory_entry AS e JOIN "
             "memory_content AS c ON c.row = e.row WHERE e.row = ?"},
            {delete_entry, "DELETE FROM memory_entry WHERE row = ?"},
            {delete_content, "DELETE FROM memory_content WHERE row = ?"},
            {delete_tags,
             "DELETE FROM memory_tag WHERE scope = ? AND tag IN (SELECT value FROM json_each(?)) "
             "AND occurred_ms = ? AND row = ?"},
            {unindex_text,
             "INSERT INTO memory_text (memory_text, rowid, text) VALUES ('delete', ?, ?)"},
        };
        for (const Item& item : items) {
            auto statement = database.prepare(item.sql);
            if (!statement) return fail(std::move(statement.error()));
            item.statement = std::move(*statement);
        }
        return {};
    }
};

MemoryChanges::MemoryChanges(std::unique_ptr<MemoryIndex> index, Database database,
                             std::unique_ptr<Statements> statements)
    : index_(std::move(index)),
      database_(std::move(database)),
      statements_(std::move(statements)) {}
MemoryChanges::~MemoryChanges() = default;

Result<std::unique_ptr<MemoryChanges>> MemoryChanges::open(const std::filesystem::path& path,
                                                           DatabaseOptions options) {
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto set = database->execute("PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=4000");
        !set)
        return fail(std::move(set.error()));
    auto index = MemoryIndex::attach(*database);
    if (!index) return fail(std::move(index.error()));
    if (auto migrated = database->migrate("memory", kMemorySchema); !migrated)
        return fail(std::move(migrated.error()));
    auto statements = std::make_unique<Statements>();
    if (auto prepared = statements->prepare(*database); !prepared)
        return fail(std::move(prepared.error()));
    return std::unique_ptr<MemoryChanges>(
        new MemoryChanges(std::move(*index), std::move(*database), std::move(statements)));
}

std::vector<Result<MemoryWritten>> MemoryChanges::write(std::span<const MemoryWrite> writes) {
    std::vector<Answer> answers(writes.size(), fail(ErrorCode::kInternal, "not written"));
    Batch batch;
    const auto done = database_.transaction([&]() -> Result<void> {
        // Deletes first: their rows are older than all that are added, and the index wants its rows
        // in ascending order.
        for (const bool deletes : {true, false}) {
            for (std::size_t i = 0; i < writes.size(); ++i) {
                if (std::holds_alternative<MemoryDelete>(writes[i].change) != deletes) continue;
                auto answer = make(writes[i], batch);
                if (!answer) return fail(std::move(answer.error()));
                answers[i] = std::move(*answer);
            }
        }
        if (auto inserted = insert_added(batch); !inserted) return inserted;
        if (auto stored = store_scopes(batch); !stored || writes.empty()) return stored;
        // A few of the oldest each time: more than come in, so the table does not grow, and never
        // many at once.
        const auto looked_at = static_cast<std::int64_t>(2 * writes.size() + 16);
        return statements_->forget_changes.bind(looked_at, writes.back().at - memory::kChangeMemory)
            .run();
    });
    if (!done) std::ranges::fill(answers, Answer(fail(done.error())));
    return answers;
}

Result<MemoryChanges::Answer> MemoryChanges::make(const MemoryWrite& write, Batch& batch) {
    auto repeat = find_repeat(write);
    if (!repeat) return fail(std::move(repeat.error()));
    if (*repeat) return std::move(**repeat);
    auto answer = std::holds_alternative<MemoryAppend>(write.change)
                      ? append(write, std::get<MemoryAppend>(write.change), batch)
                      : remove(write, std::get<MemoryDelete>(write.change), batch);
    if (answer && *answer) {
        if (auto remembered = remember(write, **answer); !remembered)
            return fail(std::move(remembered.error()));
    }
    return answer;
}

Result<std::optional<MemoryChanges::Answer>> MemoryChanges::find_repeat(const MemoryWrite& write) {
    Statement& find = statements_->find_change;
    const auto row = find.bind(memory_key_of(write)).step();
    if (!row) return fail(row.error());
    if (!*row) {
        find.reset();
        return std::nullopt;
    }
    if (!std::ranges::equal(find.bytes(0), memory_content_of(write))) {
        find.reset();
        return Answer(fail(memory_key_conflict()));
    }
    MemoryWritten written{.operation_id = find.text(1),
                          .at = find.time(2),
                          .entry_ids = memory_list_from_json(find.text_view(3)),
                          .deleted = static_cast<std::uint64_t>(find.integer(4)),
                          .not_found = memory_list_from_json(find.text_view(5)),
                          .repeated = true};
    find.reset();
    return Answer(std::move(written));
}

Result<void> MemoryChanges::remember(const MemoryWrite& write, const MemoryWritten& written) {
    return statements_->insert_change
        .bind(memory_key_of(write), memory_content_of(write), written.at, written.operation_id,
              memory_list_to_json(written.entry_ids), static_cast<std::int64_t>(written.deleted),
              memory_list_to_json(written.not_found))
        .run();
}

/// The scope with what this batch has changed of it; null when there is none.
Result<MemoryChanges::Scope*> MemoryChanges::find_scope(const memory::MemoryScope& wanted,
                                                        Batch& batch) {
    if (const auto known = batch.scopes.find(wanted); known != batch.scopes.end())
        return &known->second;
    Statement& find = statements_->find_scope;
    const auto row = find.bind(wanted.tenant.text(), wanted.agent_id, wanted.isolation_key).step();
    if (!row) return fail(row.error());
    Scope* found = nullptr;
    if (*row) {
        found = &batch.scopes[wanted];
        *found = {.number = find.integer(0),
                  .next_row = find.integer(1),
                  .entries = find.integer(2),
                  .words = find.integer(3)};
    }
    find.reset();
    return found;
}

Result<MemoryChanges::Answer> MemoryChanges::append(const MemoryWrite& write,
                                                    const MemoryAppend& append, Batch& batch) {
    auto scope = find_scope(write.scope, batch);
    if (!scope) return fail(std::move(scope.error()));
    const auto present = *scope != nullptr ? static_cast<std::uint64_t>((*scope)->entries) : 0;
    if (present + append.entries.size() > memory::kMostEntriesPerScope) {
        return Answer(fail(memory_scope_full(present)));
    }
    if (*scope == nullptr) {
        Statement& insert = statements_->insert_scope;
        const auto row =
            insert.bind(write.scope.tenant.text(), write.scope.agent_id, write.scope.isolation_key)
                .step();
        if (!row) return fail(row.error());
        const std::int64_t number = insert.integer(0);
        insert.reset();
        *scope = &batch.scopes[write.scope];
        **scope = {
            .number = number, .next_row = number << kScopeShift | 1, .entries = 0, .words = 0};
    }
    MemoryWritten written{.operation_id = write.operation_id,
                          .at = write.at,
                          .entry_ids = {},
                          .deleted = 0,
                          .not_found = {}};
    for (const memory::NewMemory& entry : append.entries) {
        batch.added.push_back(
            {.row = (*scope)->next_row++, .scope = *scope, .entry = &entry, .at = write.at});
        ++(*scope)->entries;
        written.entry_ids.push_back(entry.entry_id);
    }
    return Answer(std::move(written));
}

/// All that the batch adds, in the order of rows: FTS5 writes out what it has gathered whenever a
/// row is not above the one before.
Result<void> MemoryChanges::insert_added(Batch& batch) {
    std::ranges::sort(batch.added, {}, &Batch::Added::row);
    Statements& use = *statements_;
    for (const Batch::Added& added : batch.added) {
        const memory::NewMemory& entry = *added.entry;
        const SystemTime occurred = entry.occurred_at.value_or(added.at);
        index_->use_scope(added.scope->number);
        if (auto done = use.index_text.bind(added.row, entry.text).run(); !done) return done;
        const auto words = static_cast<std::int64_t>(index_->words_seen());
        added.scope->words += words;
        if (auto done = use.insert_entry
                            .bind(added.row, added.scope->number, occurred, words, entry.entry_id)
                            .run();
            !done)
            return done;
        if (auto done =
                use.insert_content.bind(added.row, added.at, entry.tags, entry.metadata, entry.text)
                    .run();
            !done)
            return done;
        if (entry.tags == "[]") continue;
        if (auto done =
                use.insert_tag.bind(added.scope->number, occurred, added.row, entry.tags).run();
            !done)
            return done;
    }
    return {};
}

Result<void> MemoryChanges::store_scopes(const Batch& batch) {
    for (const auto& [name, scope] : batch.scopes) {
        if (auto done = statements_->update_scope
                            .bind(scope.next_row, scope.entries, scope.words, scope.number)
                            .run();
            !done)
            return done;
    }
    return {};
}

Result<MemoryChanges::Answer> MemoryChanges::remove(const MemoryWrite& write,
                                                    const MemoryDelete& what, Batch& batch) {
    auto scope = find_scope(write.scope, batch);
    if (!scope) return fail(std::move(scope.error()));
    MemoryWritten written{.operation_id = write.operation_id,
                          .at = write.at,
                          .entry_ids = {},
                          .deleted = 0,
                          .not_found = {}};
    constexpr std::int64_t kNoScope = 0;
    const auto rows =
        rows_of(what, *scope != nullptr ? (*scope)->number : kNoScope, written.not_found);
    if (!rows) return fail(rows.error());
    if (!rows->empty()) index_->use_scope((*scope)->number);
    for (const std::int64_t row : *rows) {
        if (auto removed = remove_row(row, **scope); !removed)
            return fail(std::move(removed.error()));
    }
    written.deleted = rows->size();
    return Answer(std::move(written));
}

/// The rows that a delete is about, ascending.
Result<std::vector<std::int64_t>> MemoryChanges::rows_of(const MemoryDelete& what,
                                                         std::int64_t scope,
                                                         std::vector<std::string>& not_found) {
    std::vector<std::int64_t> rows;
    if (const auto* ids = std::get_if<memory::DeleteIds>(&what)) {
        Statement& find = statements_->find_entry;
        for (const std::string& id : ids->entry_ids) {
            const auto row = find.bind(id, scope).step();
            if (!row) return fail(row.error());
            if (*row) {
                rows.push_back(find.integer(0));
            } else if (std::ranges::find(not_found, id) == not_found.end()) {
                not_found.push_back(id);
            }
        }
        find.reset();
    } else {
        const auto* before = std::get_if<memory::DeleteBefore>(&what);
        std::string sql = "SELECT e.row FROM memory_entry AS e WHERE e.scope = ?1";
        if (before != nullptr) sql += " AND e.occurred_ms < ?2";
        if (before != nullptr) {
            sql +=
                " AND NOT EXISTS (SELECT 1 FROM json_each(?3) AS wanted WHERE NOT EXISTS (SELECT 1 "
                "FROM memory_tag AS t"
                " WHERE t.scope = ?1 AND t.tag = wanted.value AND t.occurred_ms = e.occurred_ms "
                "AND t.row = e.row))";
        }
        auto find = database_.prepare(sql);
        if (!find) return fail(std::move(find.error()));
        find->bind_at(1, scope);
        if (before != nullptr) {
            find->bind_at(2, before->before);
            find->bind_at(3, before->tags);
        }
        for (;;) {
            const auto row = find->step();
            if (!row) return fail(row.error());
            if (!*row) break;
            rows.push_back(find->integer(0));
        }
    }
    std::ranges::sort(rows);
    const auto repeated = std::ranges::unique(rows);
    rows.erase(repeated.begin(), repeated.end());
    return rows;
}

Result<void> MemoryChanges::remove_row(std::int64_t row, Scope& scope) {
    Statements& use = *statements_;
    const auto found = use.read_entry.bind(row).step();
    if (!found) return fail(found.error());
    if (!*found)
        return fail(ErrorCode::kInternal,
                    "a memory lacks its content: restore the memory store from a backup");
    const std::int64_t occurred = use.read_entry.integer(0), words = use.read_entry.integer(1);
    const std::string tags = use.read_entry.text(2);
    auto done = use.unindex_text.bind(row, use.read_entry.text_view(3)).run();
    use.read_entry.reset();
    if (done) done = use.delete_entry.bind(row).run();
    if (done) done = use.delete_content.bind(row).run();
    if (done && tags != "[]") done = use.delete_tags.bind(scope.number, tags, occurred, row).run();
    if (!done) return done;
    --scope.entries;
    scope.words -= words;
    return {};
}

}  // namespace crab::store::sqlite
