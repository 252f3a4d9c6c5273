#include "store/postgres/memory_search_postgres.hpp"

#include "store/memory/memory_identity.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

using memory::MemoryOrder;
using memory::MemoryQuery;

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min(),
                       kLast = std::numeric_limits<std::int64_t>::max();
/// Rows that are read at once, of at most 128 KiB each.
constexpr std::size_t kPiece = 64;

}  // namespace

Result<memory::MemoryPage> MemorySearchPostgres::find(const memory::MemoryScope& wanted,
                                                      const MemoryQuery& query) {
    return database_.transaction([&]() -> Result<memory::MemoryPage> {
        // One snapshot: weights, matches and entries belong together.
        if (auto set = database_.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ "
                                         "ONLY");
            !set)
            return fail(std::move(set.error()));
        auto rows = database_.query(
            "SELECT number, number << 32 | added, entries, words FROM memory_scope WHERE tenant = "
            "$1 AND agent_id = $2 AND isolation_key = $3",
            wanted.tenant.text(), wanted.agent_id, wanted.isolation_key);
        if (!rows) return fail(std::move(rows.error()));
        if (rows->count() == 0) return memory::MemoryPage{};
        const auto row = (*rows)[0];
        return find_in({.number = row.integer(0),
                        .last_row = row.integer(1),
                        .entries = row.integer(2),
                        .words = row.integer(3)},
                       query);
    });
}

Result<memory::MemoryPage> MemorySearchPostgres::find_in(const Scope& scope, MemoryQuery query) {
    const auto phrases = MemoryPhrases::of(query.terms, *finder_);
    if (phrases.wanted.empty() && query.order == MemoryOrder::kRelevance)
        query.order = MemoryOrder::kNewest;
    const bool is_ranked = query.order == MemoryOrder::kRelevance;
    MemoryPosition position;
    if (!query.after.empty()) {
        auto parsed = MemoryPosition::parse(query.after, is_ranked ? 1 + phrases.wanted.size() : 0);
        if (!parsed) return fail(std::move(parsed.error()));
        position = std::move(*parsed);
    } else {
        position.last_row = scope.last_row;
        if (is_ranked) {
            auto weights = weigh(scope, phrases);
            if (!weights) return fail(std::move(weights.error()));
            position.weights = std::move(*weights);
        }
    }
    auto marks = is_ranked ? ranked(scope, phrases, query, position)
                           : by_time(scope, phrases, query, position);
    if (!marks) return fail(std::move(marks.error()));
    return read_page(*marks, query, std::move(position));
}

/// The mean length of the scope's entries, then the weight of each wanted phrase. Several words
/// weigh as all of them in any order, and a prefix as a word that every second entry has: counting
/// its entries would cost as much as finding them.
Result<std::vector<double>> MemorySearchPostgres::weigh(const Scope& scope,
                                                        const MemoryPhrases& phrases) {
    const auto entries = static_cast<double>(std::max<std::int64_t>(scope.entries, 1));
    std::vector<double> weights{memory_mean_words(scope.words, scope.entries)};
    for (const MemoryPhrase& phrase : phrases.wanted) {
        double found = entries / 2;
        if (!phrase.is_prefix) {
            auto rows =
                database_.query("SELECT count(*) FROM memory_entry WHERE words @@ $1::tsquery",
                                to_tsquery(scope.number, {&phrase, 1}));
            if (!rows) return fail(std::move(rows.error()));
            found = static_cast<double>((*rows)[0].integer(0));
        }
        weights.push_back(memory_phrase_weight(entries, found));
    }
    return weights;
}

/// Whether a row's text has all wanted phrases, then how often, and no excluded one.
bool MemorySearchPostgres::match(const Rows::Row& row, const MemoryPhrases& phrases,
                                 std::vector<std::uint32_t>& counts) const {
    counts.clear();
    if (phrases.wanted.empty() && phrases.excluded.empty()) return true;
    const auto words = finder_->words_of(row.bytes(3));
    for (const MemoryPhrase& phrase : phrases.wanted) {
        counts.push_back(phrase.count_in(words));
        if (counts.back() == 0) return false;
    }
    return std::ranges::none_of(
        phrases.excluded, [&](const MemoryPhrase& phrase) { return phrase.count_in(words) != 0; });
}

/// Rows (row, occurred_ms, word_count, content) that may match and follow `position` in the order
/// of time; of a ranked query in no order. A cursor, since a scope may hold gigabytes.
Result<void> MemorySearchPostgres::walk(const Scope& scope, const MemoryPhrases& phrases,
                                        const MemoryQuery& query, const MemoryPosition& position,
                                        const Visit& visit) {
    const bool is_ranked = query.order == MemoryOrder::kRelevance;
    const bool oldest = query.order == MemoryOrder::kOldest;
    const bool needs_text = !phrases.wanted.empty() || !phrases.excluded.empty();
    const bool goes_on = !is_ranked && !position.first_page;
    const std::int64_t start = oldest ? kFirst : kLast;
    Array tags;
    for (const std::string& tag : memory_list_from_json(query.tags)) tags.add(tag);
    auto opened = database_.run(
        fmt::format(
            "DECLARE found NO SCROLL CURSOR FOR SELECT row, occurred_ms, word_count, {} "
            "FROM memory_entry WHERE scope = $1 AND row <= $2 AND occurred_ms >= $3 AND "
            "occurred_ms < $4 AND tag_set @> $5::text[] AND {} AND "
            "(occurred_ms, row) {} ($7, $8){}",
            needs_text ? "content" : "''::bytea",
            phrases.wanted.empty() ? "$6::text = ''" : "words @@ $6::text::tsquery",
            oldest ? ">=" : "<=",
            is_ranked ? ""
                      : fmt::format(" ORDER BY occurred_ms {0}, row {0}", oldest ? "ASC" : "DESC")),
        scope.number, position.last_row, query.since ? to_unix_ms(*query.since) : kFirst,
        query.until ? to_unix_ms(*query.until) : kLast, tags,
        to_tsquery(scope.number, phrases.wanted), goes_on ? position.mark.occurred_ms : start,
        goes_on ? position.mark.row : start);
    if (!opened) return opened;
    const std::size_t most = is_ranked ? kPiece : std::min(kPiece, query.limit + 1);
    const std::string fetch = fmt::format("FETCH {} FROM found", most);
    for (bool more = true; more;) {
        auto rows = database_.query(fetch);
        if (!rows) return fail(std::move(rows.error()));
        more = static_cast<std::size_t>(rows->count()) == most;
        for (const auto row : *rows) {
            if (!visit(row)) {
                more = false;
                break;
            }
        }
    }
    return database_.execute("CLOSE found");
}

/// The first `limit` + 1 entries after `position` that match, by their scores.
Result<std::vector<MemoryMark>> MemorySearchPostgres::ranked(const Scope& scope,
                                                             const MemoryPhrases& phrases,
                                                             const MemoryQuery& query,
                                                             const MemoryPosition& position) {
    MemoryBest best(query.limit + 1, query.order);
    std::vector<std::uint32_t> counts;
    auto done = walk(scope, phrases, query, position, [&](const Rows::Row& row) {
        if (!match(row, phrases, counts)) return true;
        const MemoryMark mark{
            .score = memory_score(counts, position.weights, static_cast<double>(row.integer(2))),
            .occurred_ms = row.integer(1),
            .row = row.integer(0)};
        if (position.first_page || position.mark.precedes(mark, query.order)) best.add(mark);
        return true;
    });
    if (!done) return fail(std::move(done.error()));
    return best.finish();
}

/// The same in the order of time.
Result<std::vector<MemoryMark>> MemorySearchPostgres::by_time(const Scope& scope,
                                                              const MemoryPhrases& phrases,
                                                              const MemoryQuery& query,
                                                              const MemoryPosition& position) {
    std::vector<MemoryMark> marks;
    std::vector<std::uint32_t> counts;
    auto done = walk(scope, phrases, query, position, [&](const Rows::Row& row) {
        const MemoryMark mark{.score = 0, .occurred_ms = row.integer(1), .row = row.integer(0)};
        if (!position.first_page && !position.mark.precedes(mark, query.order)) return true;
        if (match(row, phrases, counts)) marks.push_back(mark);
        return marks.size() <= query.limit;
    });
    if (!done) return fail(std::move(done.error()));
    return marks;
}

/// In the order of the marks.
Result<std::vector<memory::MemoryEntry>> MemorySearchPostgres::read_entries(
    std::span<const MemoryMark> marks) {
    Array numbers;
    for (const MemoryMark& mark : marks) numbers.add_number(mark.row);
    auto rows = database_.query(
        "SELECT entry_id, content, tags, metadata, occurred_ms, created_ms FROM "
        "unnest($1::bigint[]) WITH ORDINALITY AS wanted (row, place) JOIN memory_entry USING (row) "
        "ORDER BY place",
        numbers);
    if (!rows) return fail(std::move(rows.error()));
    if (static_cast<std::size_t>(rows->count()) != marks.size())
        return fail(ErrorCode::kInternal, "a memory was found and is not there");
    std::vector<memory::MemoryEntry> entries;
    for (const auto row : *rows) {
        entries.push_back({.entry_id = row.text(0),
                           .text = row.bytes(1),
                           .tags = row.text(2),
                           .metadata = row.text(3),
                           .occurred_at = row.time(4),
                           .created_at = row.time(5),
                           .score = {}});
    }
    return entries;
}

Result<memory::MemoryPage> MemorySearchPostgres::read_page(const std::vector<MemoryMark>& marks,
                                                           const MemoryQuery& query,
                                                           MemoryPosition position) {
    memory::MemoryPage page;
    std::size_t bytes = 0;
    std::vector<memory::MemoryEntry> piece;
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (i % kPiece == 0) {
            const auto next = std::span(marks).subspan(i).first(std::min(kPiece, marks.size() - i));
            auto entries = read_entries(next);
            if (!entries) return fail(std::move(entries.error()));
            piece = std::move(*entries);
        }
        memory::MemoryEntry& entry = piece[i % kPiece];
        bytes += entry.text.size() + entry.tags.size() + entry.metadata.size();
        if (page.entries.size() == query.limit ||
            (!page.entries.empty() && bytes > query.max_bytes)) {
            page.next = position.to_bytes();
            break;
        }
        if (query.order == MemoryOrder::kRelevance)
            entry.score = static_cast<double>(marks[i].score) / 1e6;
        page.entries.push_back(std::move(entry));
        position.mark = marks[i];
    }
    return page;
}

}  // namespace crab::store::postgres
