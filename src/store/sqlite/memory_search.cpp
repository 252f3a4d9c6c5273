#include "store/sqlite/memory_search.hpp"

#include "base/scope_exit.hpp"
#include "store/memory/memory_order.hpp"
#include "store/sqlite/memory_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace crab::store::sqlite {
namespace {

using memory::MemoryOrder;
using memory::MemoryQuery;

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min(),
                       kLast = std::numeric_limits<std::int64_t>::max();

/// An entry `e` has all tags of the JSON array ?1, in the scope ?2.
constexpr std::string_view kHasTags =
    " AND NOT EXISTS (SELECT 1 FROM json_each(?1) AS wanted WHERE NOT EXISTS (SELECT 1 FROM "
    "memory_tag AS t"
    " WHERE t.scope = ?2 AND t.tag = wanted.value AND t.occurred_ms = e.occurred_ms AND t.row = "
    "e.row))";

bool has_tags(const MemoryQuery& query) { return query.tags != "[]"; }

}  // namespace

struct MemorySearch::Scope {
    std::int64_t number = 0, last_row = 0, entries = 0, words = 0;
};

Result<std::unique_ptr<MemorySearch>> MemorySearch::open(const std::filesystem::path& path,
                                                         DatabaseOptions options) {
    options.check = StartCheck::kNone;
    auto database = Database::open(path, options);
    if (!database) return fail(std::move(database.error()));
    if (auto set = database->execute("PRAGMA cache_size=-32768; PRAGMA query_only=ON"); !set)
        return fail(std::move(set.error()));
    auto index = MemoryIndex::attach(*database);
    if (!index) return fail(std::move(index.error()));
    return std::unique_ptr<MemorySearch>(new MemorySearch(std::move(*index), std::move(*database)));
}

Result<memory::MemoryPage> MemorySearch::find(const memory::MemoryScope& wanted,
                                              const MemoryQuery& query) {
    // One transaction is one snapshot: weights, matches and entries belong together.
    if (auto begun = database_.execute("BEGIN"); !begun) return fail(std::move(begun.error()));
    const ScopeExit end([&] { (void)database_.execute("COMMIT"); });
    auto statement = database_.query(
        "SELECT number, next_row - 1, entries, words FROM memory_scope WHERE tenant = ? AND "
        "agent_id = ? AND isolation_key = ?",
        wanted.tenant.text(), wanted.agent_id, wanted.isolation_key);
    if (!statement) return fail(std::move(statement.error()));
    const auto row = statement->step();
    if (!row) return fail(row.error());
    if (!*row) return memory::MemoryPage{};
    return find_in({.number = statement->integer(0),
                    .last_row = statement->integer(1),
                    .entries = statement->integer(2),
                    .words = statement->integer(3)},
                   query);
}

Result<memory::MemoryPage> MemorySearch::find_in(const Scope& scope, const MemoryQuery& asked) {
    index_->use_scope(scope.number);
    const MemoryExpression expression = make_expression(
        asked.terms, [&](std::string_view text) { return index_->count_words(text); });
    MemoryQuery query = asked;
    if (expression.match.empty() && query.order == MemoryOrder::kRelevance)
        query.order = MemoryOrder::kNewest;
    const bool ranked = query.order == MemoryOrder::kRelevance;

    MemoryPosition position;
    if (!query.after.empty()) {
        auto parsed = MemoryPosition::parse(query.after, ranked ? 1 + expression.wanted.size() : 0);
        if (!parsed) return fail(std::move(parsed.error()));
        position = std::move(*parsed);
    } else {
        position.last_row = scope.last_row;
        if (ranked) {
            auto weights = weigh(scope, expression);
            if (!weights) return fail(std::move(weights.error()));
            position.weights = std::move(*weights);
        }
    }
    auto marks = expression.match.empty() ? listed(expression, query, position, scope.number)
                                          : matching(expression, query, position, scope.number);
    if (!marks) return fail(std::move(marks.error()));
    return read_page(std::move(*marks), query, std::move(position));
}

/// The mean length of the scope's entries, then the weight of each wanted phrase. A prefix weighs
/// as much as a word that every second entry has: counting its entries would cost as much as
/// finding them.
Result<std::vector<double>> MemorySearch::weigh(const Scope& scope,
                                                const MemoryExpression& expression) {
    const auto entries = static_cast<double>(std::max<std::int64_t>(scope.entries, 1));
    std::vector<double> weights{memory_mean_words(scope.words, scope.entries)};
    auto statement =
        database_.prepare("SELECT count(*) FROM memory_text WHERE memory_text MATCH ?");
    if (!statement) return fail(std::move(statement.error()));
    for (const auto& phrase : expression.wanted) {
        double found = entries / 2;
        if (!phrase.is_prefix) {
            statement->bind(phrase.text);
            const auto row = statement->step();
            if (!row) return fail(row.error());
            found = static_cast<double>(statement->integer(0));
        }
        weights.push_back(memory_phrase_weight(entries, found));
    }
    return weights;
}

/// The first `limit` + 1 entries after `position` that match the words, in order.
Result<std::vector<MemoryMark>> MemorySearch::matching(const MemoryExpression& expression,
                                                       const MemoryQuery& query,
                                                       const MemoryPosition& position,
                                                       std::int64_t scope) {
    const bool ranked = query.order == MemoryOrder::kRelevance;
    auto matches = database_.prepare(
        "SELECT rowid, crab_count(memory_text, ?) FROM memory_text WHERE memory_text MATCH ? AND "
        "rowid <= ?");
    if (!matches) return fail(std::move(matches.error()));
    auto entry =
        database_.prepare(fmt::format("SELECT e.occurred_ms, e.words FROM memory_entry AS e WHERE "
                                      "e.row = ?3 AND e.occurred_ms >= ?4 AND e.occurred_ms < ?5{}",
                                      has_tags(query) ? kHasTags : ""));
    if (!entry) return fail(std::move(entry.error()));
    if (has_tags(query)) {
        entry->bind_at(1, query.tags);
        entry->bind_at(2, scope);
    }
    entry->bind_at(4, query.since ? to_unix_ms(*query.since) : kFirst);
    entry->bind_at(5, query.until ? to_unix_ms(*query.until) : kLast);
    matches->bind(static_cast<std::int64_t>(ranked ? expression.wanted.size() : 0),
                  expression.match, position.last_row);

    MemoryBest best(query.limit + 1, query.order);
    for (;;) {
        const auto row = matches->step();
        if (!row) return fail(row.error());
        if (!*row) break;
        // An entry is as long as its last match at least. Most are out of the question by that
        // alone and need no look.
        if (ranked && best.is_full() &&
            memory_score(index_->last_counts(), position.weights,
                         static_cast<double>(matches->integer(1) + 1)) < best.last().score)
            continue;
        MemoryMark mark{.score = 0, .occurred_ms = 0, .row = matches->integer(0)};
        entry->reset();
        entry->bind_at(3, mark.row);
        const auto passes = entry->step();
        if (!passes) return fail(passes.error());
        if (!*passes) continue;
        mark.occurred_ms = entry->integer(0);
        if (ranked)
            mark.score = memory_score(index_->last_counts(), position.weights,
                                      static_cast<double>(entry->integer(1)));
        if (!position.first_page && !position.mark.precedes(mark, query.order)) continue;
        best.add(mark);
    }
    return best.finish();
}

/// The first `limit` + 1 entries after `position` in the order of time, less those with an excluded
/// word.
Result<std::vector<MemoryMark>> MemorySearch::listed(const MemoryExpression& expression,
                                                     const MemoryQuery& query,
                                                     const MemoryPosition& position,
                                                     std::int64_t scope) {
    const bool oldest = query.order == MemoryOrder::kOldest;
    // The rows of one tag are in the order of time too, so either table can be read in order until
    // the page is full.
    auto statement = database_.prepare(fmt::format(
        "SELECT e.row, e.occurred_ms FROM {} WHERE e.scope = ?2 AND (e.occurred_ms, e.row) {} (?3, "
        "?4) AND +e.row <= ?5"
        " AND e.occurred_ms >= ?6 AND e.occurred_ms < ?7{}{} ORDER BY e.occurred_ms {}, e.row {} "
        "LIMIT ?8",
        has_tags(query) ? "memory_tag AS e" : "memory_entry AS e INDEXED BY memory_by_time",
        oldest ? ">" : "<",
        has_tags(query) ? fmt::format(" AND e.tag = json_extract(?1, '$[0]'){}", kHasTags) : "",
        expression.excluded.empty()
            ? ""
            : " AND e.row NOT IN (SELECT rowid FROM memory_text WHERE memory_text MATCH ?9)",
        oldest ? "ASC" : "DESC", oldest ? "ASC" : "DESC"));
    if (!statement) return fail(std::move(statement.error()));
    const std::int64_t start = oldest ? kFirst : kLast;
    if (has_tags(query)) statement->bind_at(1, query.tags);
    statement->bind_at(2, scope);
    statement->bind_at(3, position.first_page ? start : position.mark.occurred_ms);
    statement->bind_at(4, position.first_page ? start : position.mark.row);
    statement->bind_at(5, position.last_row);
    statement->bind_at(6, query.since ? to_unix_ms(*query.since) : kFirst);
    statement->bind_at(7, query.until ? to_unix_ms(*query.until) : kLast);
    statement->bind_at(8, static_cast<std::int64_t>(query.limit) + 1);
    if (!expression.excluded.empty()) statement->bind_at(9, expression.excluded);
    std::vector<MemoryMark> marks;
    for (;;) {
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row) return marks;
        marks.push_back(
            {.score = 0, .occurred_ms = statement->integer(1), .row = statement->integer(0)});
    }
}

Result<memory::MemoryPage> MemorySearch::read_page(std::vector<MemoryMark> marks,
                                                   const MemoryQuery& query,
                                                   MemoryPosition position) {
    memory::MemoryPage page;
    auto statement = database_.prepare(
        "SELECT e.entry_id, c.text, c.tags, c.metadata, e.occurred_ms, c.created_ms FROM "
        "memory_entry AS e"
        " JOIN memory_content AS c ON c.row = e.row WHERE e.row = ?");
    if (!statement) return fail(std::move(statement.error()));
    std::size_t bytes = 0;
    for (const MemoryMark& mark : marks) {
        statement->bind(mark.row);
        const auto row = statement->step();
        if (!row) return fail(row.error());
        if (!*row)
            return fail(ErrorCode::kInternal,
                        "an entry is in the index and nowhere else: restore the memory store from "
                        "a backup");
        bytes += statement->text_view(1).size() + statement->text_view(2).size() +
                 statement->text_view(3).size();
        if (page.entries.size() == query.limit ||
            (!page.entries.empty() && bytes > query.max_bytes)) {
            page.next = position.to_bytes();
            break;
        }
        page.entries.push_back({.entry_id = statement->text(0),
                                .text = statement->text(1),
                                .tags = statement->text(2),
                                .metadata = statement->text(3),
                                .occurred_at = statement->time(4),
                                .created_at = statement->time(5),
                                .score = {}});
        if (query.order == MemoryOrder::kRelevance)
            page.entries.back().score = static_cast<double>(mark.score) / 1e6;
        position.mark = mark;
    }
    return page;
}

}  // namespace crab::store::sqlite
