#pragma once

#include "base/result.hpp"
#include "store/sqlite/database.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace crab::store::sqlite {

/// What the full-text index of memories needs of a connection beyond FTS5 itself:
/// - the tokenizer `crab_scoped`: unicode61 without diacritics, each word with the number of the
/// current scope before it
///   (`12:kitchen`). A scope has its own words and lists: searching one costs what that scope
///   holds, whatever others hold, prefixes included, and no query can reach the words of another;
/// - the function `crab_count(table, n)`: counts how often each of the first n phrases of the query
/// occurs in the current row,
///   for last_counts(), and returns the position of the last word that does.
/// Made once for each connection, before the index is used there, and kept until that is closed.
/// Not thread-safe, as the connection.
class MemoryIndex {
public:
    /// Errors: kInternal when this SQLite has no FTS5.
    static Result<std::unique_ptr<MemoryIndex>> attach(Database& database);
    ~MemoryIndex();

    /// Words that are indexed or looked up from here on belong to this scope.
    void use_scope(std::int64_t number);
    /// The words that have been indexed or looked up since use_scope().
    std::size_t words_seen() const;
    /// What crab_count() has counted for the row that was stepped to last, by phrase.
    std::span<const std::uint32_t> last_counts() const;
    /// How many words the tokenizer finds in `text`.
    std::size_t count_words(std::string_view text) const;

private:
    struct Tokens;
    explicit MemoryIndex(std::unique_ptr<Tokens> tokens);
    std::unique_ptr<Tokens> tokens_;
};

}  // namespace crab::store::sqlite
