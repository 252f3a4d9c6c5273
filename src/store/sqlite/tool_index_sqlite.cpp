#include "store/sqlite/tool_index_sqlite.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

constexpr std::size_t kMostWords = 32;
constexpr std::size_t kShortestBeginning = 3;   // shorter words match whole

/// `readRoom` holds two words, which the tokenizer would take for one; it splits at everything else
/// that is not a letter or digit.
std::string split_words(std::string_view name) {
    std::string words;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto is = [](char c, char first, char last) { return c >= first && c <= last; };
        if (i > 0 && is(name[i], 'A', 'Z') && is(name[i - 1], 'a', 'z')) words += ' ';
        words += name[i];
    }
    return words;
}

/// An expression of FTS5 that any of the words fulfils; each is quoted, so nothing of the text is
/// read as syntax.
std::string expression_of(std::string_view text) {
    std::string expression, word;
    std::size_t words = 0;
    const auto end_word = [&] {
        if (!word.empty() && words++ < kMostWords)
            expression += fmt::format(R"({}"{}"{})", expression.empty() ? "" : " OR ", word,
                                      word.size() >= kShortestBeginning ? "*" : "");
        word.clear();
    };
    for (const char c : split_words(text)) {
        const bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                            (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
        if (letter)
            word += c;
        else
            end_word();
    }
    end_word();
    return expression;
}

}  // namespace

Result<ToolIndexSqlite::Index*> ToolIndexSqlite::index_of(
    const std::shared_ptr<const core::ToolCatalog>& catalog) {
    const auto known = std::ranges::find_if(indexes_, [&](const Index& index) {
        return index.catalog == catalog || index.catalog->entries == catalog->entries;
    });
    if (known != indexes_.end()) {
        indexes_.splice(indexes_.begin(), indexes_, known);
        return &indexes_.front();
    }
    auto database = Database::open(
        ":memory:", {.durability = Durability::kProcess, .check = StartCheck::kNone});
    if (!database) return fail(std::move(database.error()));
    if (auto made = database->execute("CREATE VIRTUAL TABLE tool USING fts5 (name, description, "
                                      "tokenize = 'porter unicode61 remove_diacritics 2')");
        !made)
        return fail(std::move(made.error()));
    const auto filled = database->transaction([&]() -> Result<void> {
        auto insert =
            database->prepare("INSERT INTO tool (rowid, name, description) VALUES (?, ?, ?)");
        if (!insert) return fail(std::move(insert.error()));
        for (std::size_t i = 0; i < catalog->entries.size(); ++i) {
            const core::ToolCatalog::Entry& entry = catalog->entries[i];
            if (auto added = insert
                                 ->bind(static_cast<std::int64_t>(i), split_words(entry.name),
                                        entry.description)
                                 .run();
                !added)
                return added;
        }
        return {};
    });
    if (!filled) return fail(filled.error());
    indexes_.push_front({.catalog = catalog, .database = std::move(*database)});
    if (indexes_.size() > kMostCatalogs) indexes_.pop_back();
    return &indexes_.front();
}

Result<std::vector<std::string>> ToolIndexSqlite::find(
    const std::shared_ptr<const core::ToolCatalog>& catalog, std::string_view words,
    std::size_t most) {
    std::vector<std::string> names;
    const std::string expression = expression_of(words);
    if (expression.empty() || catalog->entries.empty()) return names;
    const std::scoped_lock lock(mutex_);
    const auto index = index_of(catalog);
    if (!index) return fail(index.error());
    auto rows = (*index)->database.query(
        "SELECT rowid FROM tool WHERE tool MATCH ? ORDER BY bm25(tool, 4.0, 1.0), rowid LIMIT ?",
        expression, static_cast<std::int64_t>(most));
    if (!rows) return fail(std::move(rows.error()));
    for (;;) {
        const auto more = rows->step();
        if (!more) return fail(more.error());
        if (!*more) return names;
        names.push_back(
            (*index)->catalog->entries.at(static_cast<std::size_t>(rows->integer(0))).name);
    }
}

}  // namespace crab::store::sqlite
