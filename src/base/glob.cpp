#include "base/glob.hpp"

#include <cstddef>
#include <vector>

namespace crab {
namespace {

/// Matches `text` by `pattern`; `takes(c)` says whether a `?` may stand for that character.
bool matches_by(std::string_view pattern, std::string_view text, auto takes) {
    std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() &&
                   (pattern[p] == '?' ? takes(text[t]) : pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resume;  // let the last star match one more character
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace

bool Glob::matches(std::string_view text) const {
    return matches_by(pattern_, text, [](char) { return true; });
}

/// The narrower pattern is matched as text, in which a star is a letter that only our stars match.
bool Glob::covers(const Glob& narrower) const {
    return matches_by(pattern_, narrower.pattern_, [](char c) { return c != '*'; });
}

/// `reached[j]` is whether the patterns up to `i` and `j` have a text in common.
bool Glob::overlaps(const Glob& other) const {
    const std::string_view a = pattern_, b = other.pattern_;
    std::vector<char> reached(b.size() + 1), next(b.size() + 1);
    reached[0] = 1;
    for (std::size_t j = 1; j <= b.size(); ++j) reached[j] = reached[j - 1] && b[j - 1] == '*';
    for (const char c : a) {
        next[0] = c == '*' && reached[0];
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const char d = b[j - 1];
            if (c == '*' || d == '*')
                next[j] = reached[j] || next[j - 1];
            else
                next[j] = reached[j - 1] && (c == d || c == '?' || d == '?');
        }
        std::swap(reached, next);
    }
    return reached[b.size()] != 0;
}

}  // namespace crab
