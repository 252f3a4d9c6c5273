#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::memory {

enum class TermKind : std::uint8_t {
    kPlain,    ///< a word, or what stands between two spaces: its words in a row
    kPrefix,   ///< words that begin so
    kPhrase,   ///< words in a row
};

/// One thing that a matching entry must have, or must not have.
struct QueryTerm {
    std::string text;   ///< as the caller wrote it, without its marks; may hold no word at all
    TermKind kind = TermKind::kPlain;
    bool excluded = false;
    friend bool operator==(const QueryTerm&, const QueryTerm&) = default;
};

/// Reads what a caller typed: `word`, `"a phrase"`, `begin*`, and `-` before any of them. It never
/// fails; marks that make no sense where they stand (a quote without its end, a star inside a word,
/// a lone minus) are plain text. Source: docs/protocols/rtp.md, "Memory host".
std::vector<QueryTerm> parse_query_terms(std::string_view text);

}  // namespace crab::memory
