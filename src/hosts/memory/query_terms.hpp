#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::memory {

enum class TermKind : std::uint8_t {
    kPlain,    ///< a word, or what stands between two spaces: its words in a row
    kPrefix,   ///< words with this prefix
    kPhrase,   ///< words in a row
};

/// A term that a matching entry must, or must not, contain.
struct QueryTerm {
    std::string text;   ///< without its operators; may contain no word
    TermKind kind = TermKind::kPlain;
    bool excluded = false;
    friend bool operator==(const QueryTerm&, const QueryTerm&) = default;
};

/// Reads what a caller typed: `word`, `"a phrase"`, `begin*`, and `-` before any of them. Never
/// fails; misplaced operators (an unclosed quote, a star inside a word, a lone minus) are plain
/// text. Source: docs/protocols/rtp.md, "Memory host".
std::vector<QueryTerm> parse_query_terms(std::string_view text);

}  // namespace crab::memory
