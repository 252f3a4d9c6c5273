#include "store/postgres/memory_words.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace crab::store::postgres {
namespace {

/// A lexeme of PostgreSQL has less than 2 KiB.
constexpr std::size_t kMostLexemeBytes = 1000;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

/// `'12:word'`, quoted as tsvector and tsquery read it.
void add_lexeme(std::string& to, std::int64_t scope, std::string_view word) {
    if (word.size() > kMostLexemeBytes) {
        std::size_t end = kMostLexemeBytes;
        while (end > 0 && !begins_character(word[end])) --end;
        word = word.substr(0, end);
    }
    to += fmt::format("'{}:", scope);
    for (const char c : word) {
        if (c == '\'' || c == '\\') to += c;
        to += c;
    }
    to += '\'';
}

}  // namespace

std::uint32_t MemoryPhrase::count_in(std::span<const std::string> text) const {
    std::uint32_t count = 0;
    for (std::size_t at = 0; at + words.size() <= text.size(); ++at) {
        const std::size_t last = words.size() - 1;
        const std::string& end = text[at + last];
        if (is_prefix ? !end.starts_with(words[last]) : end != words[last]) continue;
        if (std::equal(words.begin(), words.end() - 1, text.begin() + static_cast<long>(at)))
            ++count;
    }
    return count;
}

MemoryPhrases MemoryPhrases::of(std::span<const memory::QueryTerm> terms,
                                const WordFinder& finder) {
    MemoryPhrases phrases;
    for (const memory::QueryTerm& term : terms) {
        MemoryPhrase phrase{.words = finder.words_of(term.text),
                            .is_prefix = term.kind == memory::TermKind::kPrefix};
        if (phrase.words.empty()) continue;
        auto& list = term.excluded ? phrases.excluded : phrases.wanted;
        if (std::ranges::find(list, phrase) == list.end()) list.push_back(std::move(phrase));
    }
    return phrases;
}

std::string to_tsvector(std::int64_t scope, std::span<const std::string> words) {
    std::vector<std::string_view> distinct(words.begin(), words.end());
    std::ranges::sort(distinct);
    const auto repeated = std::ranges::unique(distinct);
    distinct.erase(repeated.begin(), repeated.end());
    std::string text;
    for (const std::string_view word : distinct) {
        if (!text.empty()) text += ' ';
        add_lexeme(text, scope, word);
    }
    return text;
}

std::string to_tsquery(std::int64_t scope, std::span<const MemoryPhrase> phrases) {
    std::string text;
    for (const MemoryPhrase& phrase : phrases) {
        for (std::size_t i = 0; i < phrase.words.size(); ++i) {
            if (!text.empty()) text += " & ";
            add_lexeme(text, scope, phrase.words[i]);
            if (phrase.is_prefix && i + 1 == phrase.words.size()) text += ":*";
        }
    }
    return text;
}

}  // namespace crab::store::postgres
