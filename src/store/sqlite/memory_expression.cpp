#include "store/sqlite/memory_expression.hpp"

#include <algorithm>

namespace crab::store::sqlite {
namespace {

using Phrase = MemoryExpression::Phrase;

Phrase phrase_of(const memory::QueryTerm& term) {
    Phrase phrase{.text = "\"", .is_prefix = term.kind == memory::TermKind::kPrefix};
    for (const char c : term.text) {
        if (c == '"') phrase.text += '"';
        phrase.text += c;
    }
    phrase.text += phrase.is_prefix ? "\" *" : "\"";
    return phrase;
}

std::string join(std::span<const Phrase> phrases, std::string_view with) {
    std::string joined;
    for (const Phrase& phrase : phrases) {
        if (!joined.empty()) joined += with;
        joined += phrase.text;
    }
    return joined;
}

}  // namespace

MemoryExpression make_expression(std::span<const memory::QueryTerm> terms,
                                 const std::function<std::size_t(std::string_view)>& count_words) {
    MemoryExpression expression;
    std::vector<Phrase> excluded;
    for (const memory::QueryTerm& term : terms) {
        if (count_words(term.text) == 0) continue;
        auto& phrases = term.excluded ? excluded : expression.wanted;
        Phrase phrase = phrase_of(term);
        if (std::ranges::find(phrases, phrase) == phrases.end())
            phrases.push_back(std::move(phrase));
    }
    // One OR of all excluded phrases: a chain of NOTs would nest, and FTS5 nests 256 deep at most.
    expression.excluded = join(excluded, " OR ");
    if (expression.wanted.empty()) return expression;
    expression.match = join(expression.wanted, " AND ");
    if (!excluded.empty())
        expression.match = "(" + expression.match + ") NOT (" + expression.excluded + ")";
    return expression;
}

}  // namespace crab::store::sqlite
