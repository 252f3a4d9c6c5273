#pragma once

#include "hosts/memory/query_terms.hpp"
#include "store/memory/word_finder.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace crab::store::postgres {

/// Words in a row; the last may be the beginning of one.
struct MemoryPhrase {
    std::vector<std::string> words;
    bool is_prefix = false;
    friend bool operator==(const MemoryPhrase&, const MemoryPhrase&) = default;

    /// How often it occurs in a text of these words.
    std::uint32_t count_in(std::span<const std::string> text) const;
};

/// Query terms as phrases. Terms without a word mean nothing and are left out, repeated ones too.
struct MemoryPhrases {
    std::vector<MemoryPhrase> wanted;    ///< all must occur
    std::vector<MemoryPhrase> excluded;  ///< none may

    static MemoryPhrases of(std::span<const memory::QueryTerm> terms, const WordFinder& finder);
};

/// The words of a text as a tsvector without positions, each with its scope before it. Long words
/// are cut, as in the queries below.
std::string to_tsvector(std::int64_t scope, std::span<const std::string> words);
/// A tsquery of all words of the phrases: true for each text that has the phrases, and for some
/// others, as it does not look at the order.
std::string to_tsquery(std::int64_t scope, std::span<const MemoryPhrase> phrases);

}  // namespace crab::store::postgres
