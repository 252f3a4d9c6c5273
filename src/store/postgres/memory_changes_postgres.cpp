#include "store/postgres/memory_changes_postgres.hpp"

#include "base/encoding.hpp"
#include "store/memory/memory_identity.hpp"
#include "store/postgres/memory_words.hpp"

#include <algorithm>
#include <set>

namespace crab::store::postgres {
namespace {

using memory::MemoryAppend;
using memory::MemoryDelete;
using memory::MemoryWrite;
using memory::MemoryWritten;

constexpr int kScopeShift = 32;   // a row is `scope << 32 | n`
/// How often a batch is made that meets another node's at a key or a new scope.
constexpr int kMostTries = 5;

struct Names {
    Array tenants, agents, keys;

    void add(const memory::MemoryScope& scope) {
        tenants.add(scope.tenant.text());
        agents.add(scope.agent_id);
        keys.add(scope.isolation_key);
    }
};

MemoryWritten begin_answer(const MemoryWrite& write) {
    return {.operation_id = write.operation_id,
            .at = write.at,
            .entry_ids = {},
            .deleted = 0,
            .not_found = {}};
}

}  // namespace

struct MemoryChangesPostgres::Batch {
    struct Known {
        crypto::Sha256Digest content;
        MemoryWritten written;
    };
    struct Added {
        std::int64_t row;
        Scope* scope;
        const memory::NewMemory* entry;
        SystemTime at;
    };
    std::vector<Answer> answers;
    std::map<memory::MemoryScope, Scope> scopes;
    std::set<memory::MemoryScope> missing;   ///< appended to, and not there yet
    std::map<crypto::Sha256Digest, Known> known;
    std::vector<std::size_t> made;   ///< writes that are to be remembered
    std::vector<Added> added;
    bool is_overtaken = false;
};

std::vector<Result<MemoryWritten>> MemoryChangesPostgres::write(
    std::span<const MemoryWrite> writes) {
    Result<void> done;
    for (int i = 0; i < kMostTries; ++i) {
        Batch batch;
        batch.answers.assign(writes.size(), fail(ErrorCode::kInternal, "not written"));
        done = database_.transaction([&] { return make_all(writes, batch); });
        if (done) return std::move(batch.answers);
        if (!batch.is_overtaken) break;
    }
    return std::vector<Answer>(writes.size(), Answer(fail(done.error())));
}

Result<void> MemoryChangesPostgres::make_all(std::span<const MemoryWrite> writes, Batch& batch) {
    if (auto locked = lock_scopes(writes, batch); !locked) return locked;
    if (auto made = make_scopes(batch); !made) return made;
    if (auto found = find_repeats(writes, batch); !found) return found;
    for (const bool deletes : {true, false}) {
        for (std::size_t i = 0; i < writes.size(); ++i) {
            if (std::holds_alternative<MemoryDelete>(writes[i].change) != deletes) continue;
            auto answer = make(writes[i], batch);
            if (!answer) return fail(std::move(answer.error()));
            batch.answers[i] = std::move(*answer);
            if (!batch.answers[i] || batch.answers[i]->repeated) continue;
            batch.made.push_back(i);
            batch.known[memory_key_of(writes[i])] = {.content = memory_content_of(writes[i]),
                                                     .written = *batch.answers[i]};
        }
    }
    if (auto inserted = insert_added(batch); !inserted) return inserted;
    if (auto stored = store_scopes(batch); !stored) return stored;
    return remember(writes, batch);
}

/// All that are there, in one order.
Result<void> MemoryChangesPostgres::lock_scopes(std::span<const MemoryWrite> writes, Batch& batch) {
    Names names;
    std::set<memory::MemoryScope> asked;
    for (const MemoryWrite& write : writes) {
        if (std::holds_alternative<MemoryAppend>(write.change)) batch.missing.insert(write.scope);
        if (asked.insert(write.scope).second) names.add(write.scope);
    }
    auto rows = database_.query(
        "SELECT tenant, agent_id, isolation_key, number, added, entries, words FROM memory_scope "
        "WHERE (tenant, agent_id, isolation_key) IN (SELECT * FROM unnest($1::text[], $2::text[], "
        "$3::text[])) ORDER BY tenant, agent_id, isolation_key FOR UPDATE",
        names.tenants, names.agents, names.keys);
    if (!rows) return fail(std::move(rows.error()));
    for (const auto row : *rows) {
        const memory::MemoryScope name{
            .tenant = TenantId(row.text(0)), .agent_id = row.text(1), .isolation_key = row.text(2)};
        batch.missing.erase(name);
        batch.scopes[name] = {.number = row.integer(3),
                              .added = row.integer(4),
                              .entries = row.integer(5),
                              .words = row.integer(6)};
    }
    return {};
}

/// Numbers are spent on new ones only: a row has 32 bits for its scope.
Result<void> MemoryChangesPostgres::make_scopes(Batch& batch) {
    if (batch.missing.empty()) return {};
    Names names;
    for (const memory::MemoryScope& scope : batch.missing) names.add(scope);
    auto rows = database_.query(
        "INSERT INTO memory_scope (tenant, agent_id, isolation_key) SELECT * FROM "
        "unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING RETURNING tenant, "
        "agent_id, isolation_key, number",
        names.tenants, names.agents, names.keys);
    if (!rows) return fail(std::move(rows.error()));
    for (const auto row : *rows) {
        batch.scopes[{.tenant = TenantId(row.text(0)),
                      .agent_id = row.text(1),
                      .isolation_key = row.text(2)}] = {.number = row.integer(3)};
    }
    if (static_cast<std::size_t>(rows->count()) == batch.missing.size()) return {};
    batch.is_overtaken = true;
    return fail(ErrorCode::kUnavailable, "another node made the same memory: repeat");
}

Result<void> MemoryChangesPostgres::find_repeats(std::span<const MemoryWrite> writes,
                                                 Batch& batch) {
    Array keys;
    for (const MemoryWrite& write : writes) keys.add_bytes(memory_key_of(write));
    auto rows = database_.query(
        "SELECT key, content, operation_id, at_ms, entry_ids, deleted, not_found FROM "
        "memory_change WHERE key = ANY ($1::bytea[])",
        keys);
    if (!rows) return fail(std::move(rows.error()));
    for (const auto row : *rows) {
        const auto digest_of = [&](int column) {
            crypto::Sha256Digest digest{};
            const std::string bytes = row.bytes(column);
            std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
            return digest;
        };
        batch.known[digest_of(0)] = {
            .content = digest_of(1),
            .written = {.operation_id = row.text(2),
                        .at = row.time(3),
                        .entry_ids = memory_list_from_json(row.text_view(4)),
                        .deleted = static_cast<std::uint64_t>(row.integer(5)),
                        .not_found = memory_list_from_json(row.text_view(6))}};
    }
    return {};
}

Result<MemoryChangesPostgres::Answer> MemoryChangesPostgres::make(const MemoryWrite& write,
                                                                  Batch& batch) {
    if (const auto known = batch.known.find(memory_key_of(write)); known != batch.known.end()) {
        if (known->second.content != memory_content_of(write))
            return Answer(fail(memory_key_conflict()));
        Answer repeat = known->second.written;
        repeat->repeated = true;
        return repeat;
    }
    if (const auto* adds = std::get_if<MemoryAppend>(&write.change))
        return append(write, *adds, batch);
    return remove(write, std::get<MemoryDelete>(write.change), batch);
}

MemoryChangesPostgres::Answer MemoryChangesPostgres::append(const MemoryWrite& write,
                                                            const MemoryAppend& append,
                                                            Batch& batch) {
    Scope& scope = batch.scopes[write.scope];
    const auto present = static_cast<std::uint64_t>(scope.entries);
    if (present + append.entries.size() > memory::kMostEntriesPerScope)
        return fail(memory_scope_full(present));
    MemoryWritten written = begin_answer(write);
    for (const memory::NewMemory& entry : append.entries) {
        batch.added.push_back({.row = scope.number << kScopeShift | ++scope.added,
                               .scope = &scope,
                               .entry = &entry,
                               .at = write.at});
        ++scope.entries;
        written.entry_ids.push_back(entry.entry_id);
    }
    return written;
}

Result<MemoryChangesPostgres::Answer> MemoryChangesPostgres::remove(const MemoryWrite& write,
                                                                    const MemoryDelete& what,
                                                                    Batch& batch) {
    MemoryWritten written = begin_answer(write);
    const auto* ids = std::get_if<memory::DeleteIds>(&what);
    const auto scope = batch.scopes.find(write.scope);
    Scope nothing;
    Scope& from = scope != batch.scopes.end() ? scope->second : nothing;
    if (ids != nullptr) {
        if (auto removed = remove_ids(*ids, from, written); !removed)
            return fail(std::move(removed.error()));
        return Answer(std::move(written));
    }
    const auto* before = std::get_if<memory::DeleteBefore>(&what);
    Array tags;
    if (before != nullptr)
        for (const std::string& tag : memory_list_from_json(before->tags)) tags.add(tag);
    auto rows = database_.query(
        "WITH gone AS (DELETE FROM memory_entry WHERE scope = $1 AND ($2::bigint IS NULL OR "
        "occurred_ms < $2) AND tag_set @> $3::text[] RETURNING word_count) SELECT count(*), "
        "coalesce(sum(word_count), 0) FROM gone",
        from.number, before != nullptr ? std::optional<SystemTime>(before->before) : std::nullopt,
        tags);
    if (!rows) return fail(std::move(rows.error()));
    written.deleted = static_cast<std::uint64_t>((*rows)[0].integer(0));
    from.entries -= (*rows)[0].integer(0);
    from.words -= (*rows)[0].integer(1);
    return Answer(std::move(written));
}

Result<void> MemoryChangesPostgres::remove_ids(const memory::DeleteIds& ids, Scope& scope,
                                               MemoryWritten& written) {
    Array wanted;
    for (const std::string& id : ids.entry_ids)
        if (!id.contains('\0')) wanted.add(id);
    auto rows = database_.query(
        "DELETE FROM memory_entry WHERE scope = $1 AND entry_id = ANY ($2::text[]) "
        "RETURNING entry_id, word_count",
        scope.number, wanted);
    if (!rows) return fail(std::move(rows.error()));
    std::set<std::string> gone;
    for (const auto row : *rows) {
        gone.insert(row.text(0));
        --scope.entries;
        scope.words -= row.integer(1);
    }
    written.deleted = gone.size();
    for (const std::string& id : ids.entry_ids) {
        if (!gone.contains(id) &&
            std::ranges::find(written.not_found, id) == written.not_found.end())
            written.not_found.push_back(id);
    }
    return {};
}

Result<void> MemoryChangesPostgres::insert_added(Batch& batch) {
    if (batch.added.empty()) return {};
    Array rows, scopes, occurred, created, counts, ids, tag_sets, words, tags, metadata, contents;
    for (const Batch::Added& added : batch.added) {
        const memory::NewMemory& entry = *added.entry;
        const auto found = finder_->words_of(entry.text);
        added.scope->words += static_cast<std::int64_t>(found.size());
        Array tag_set;
        for (const std::string& tag : memory_list_from_json(entry.tags)) tag_set.add(tag);
        rows.add_number(added.row);
        scopes.add_number(added.scope->number);
        occurred.add_number(to_unix_ms(entry.occurred_at.value_or(added.at)));
        created.add_number(to_unix_ms(added.at));
        counts.add_number(static_cast<std::int64_t>(found.size()));
        ids.add(entry.entry_id);
        tag_sets.add(tag_set.finish());
        words.add(to_tsvector(added.scope->number, found));
        tags.add(entry.tags);
        metadata.add(entry.metadata);
        contents.add_bytes(bytes_of(entry.text));
    }
    return database_.run(
        "INSERT INTO memory_entry (row, scope, occurred_ms, created_ms, word_count, entry_id, "
        "tag_set, words, tags, metadata, content) SELECT r, s, o, c, n, i, g::text[], "
        "w::tsvector, t, m, x FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], "
        "$4::bigint[], $5::int[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], "
        "$11::bytea[]) AS u (r, s, o, c, n, i, g, w, t, m, x)",
        rows, scopes, occurred, created, counts, ids, tag_sets, words, tags, metadata, contents);
}

Result<void> MemoryChangesPostgres::store_scopes(const Batch& batch) {
    Array numbers, added, entries, words;
    for (const auto& [name, scope] : batch.scopes) {
        numbers.add_number(scope.number);
        added.add_number(scope.added);
        entries.add_number(scope.entries);
        words.add_number(scope.words);
    }
    return database_.run(
        "UPDATE memory_scope AS s SET added = u.added, entries = u.entries, words = u.words FROM "
        "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS u (number, added, "
        "entries, words) WHERE s.number = u.number AND (s.added, s.entries, s.words) <> (u.added, "
        "u.entries, u.words)",
        numbers, added, entries, words);
}

/// And forgets a few of the oldest: more than come in, so the table does not grow, and never many
/// at once.
Result<void> MemoryChangesPostgres::remember(std::span<const MemoryWrite> writes, Batch& batch) {
    if (writes.empty()) return {};
    Array keys, contents, times, operations, ids, deleted, not_found;
    for (const std::size_t i : batch.made) {
        const MemoryWritten& written = *batch.answers[i];
        keys.add_bytes(memory_key_of(writes[i]));
        contents.add_bytes(memory_content_of(writes[i]));
        times.add_number(to_unix_ms(written.at));
        operations.add(written.operation_id);
        ids.add(memory_list_to_json(written.entry_ids));
        deleted.add_number(static_cast<std::int64_t>(written.deleted));
        not_found.add(memory_list_to_json(written.not_found));
    }
    auto inserted = database_.query(
        "INSERT INTO memory_change (key, content, at_ms, operation_id, entry_ids, deleted, "
        "not_found) SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::text[], "
        "$5::text[], $6::bigint[], $7::text[]) AS u (key) ORDER BY u.key ON CONFLICT DO NOTHING",
        keys, contents, times, operations, ids, deleted, not_found);
    if (!inserted) return fail(std::move(inserted.error()));
    if (static_cast<std::size_t>(inserted->changed()) != batch.made.size()) {
        batch.is_overtaken = true;
        return fail(ErrorCode::kUnavailable, "another node made the same change: repeat");
    }
    return database_.run(
        "DELETE FROM memory_change WHERE key IN (SELECT key FROM memory_change WHERE at_ms < $1 "
        "ORDER BY at_ms LIMIT $2 FOR UPDATE SKIP LOCKED)",
        writes.back().at - memory::kChangeMemory, 2 * writes.size() + 16);
}

}  // namespace crab::store::postgres
