#include "hosts/memory/query_terms.hpp"

namespace crab::memory {
namespace {

constexpr std::string_view kBetween = " \t\r\n\f\v";

bool is_between(char c) { return c == '\0' || kBetween.find(c) != std::string_view::npos; }

/// The text up to the next white space; a quote ends it too when another one follows, for a phrase
/// begins there.
std::string_view plain_part(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (is_between(text[at])) return text.substr(0, at);
        if (text[at] == '"' && at > 0 && text.find('"', at + 1) != std::string_view::npos)
            return text.substr(0, at);
    }
    return text;
}

/// Phrases are handed on to others as text: a NUL would end it early.
std::string without_nul(std::string_view text) {
    std::string clean(text);
    for (char& c : clean) {
        if (c == '\0') c = ' ';
    }
    return clean;
}

}  // namespace

std::vector<QueryTerm> parse_query_terms(std::string_view text) {
    std::vector<QueryTerm> terms;
    while (!text.empty()) {
        if (is_between(text.front())) {
            text.remove_prefix(1);
            continue;
        }
        QueryTerm term;
        if (text.front() == '-' && text.size() > 1 && text[1] != '-' && !is_between(text[1])) {
            term.excluded = true;
            text.remove_prefix(1);
        }
        const std::size_t closing =
            text.front() == '"' ? text.find('"', 1) : std::string_view::npos;
        if (closing != std::string_view::npos) {
            term.kind = TermKind::kPhrase;
            term.text = without_nul(text.substr(1, closing - 1));
            text.remove_prefix(closing + 1);
        } else {
            std::string_view part = plain_part(text);
            text.remove_prefix(part.size());
            if (part.ends_with('*') && part.find_first_not_of('*') != std::string_view::npos) {
                term.kind = TermKind::kPrefix;
                while (part.ends_with('*')) part.remove_suffix(1);
            }
            term.text = std::string(part);
        }
        terms.push_back(std::move(term));
    }
    return terms;
}

}  // namespace crab::memory
