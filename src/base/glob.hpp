#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace crab {

/// A pattern over names: `*` matches any run of characters, `?` one character, everything else
/// itself.
class Glob {
public:
    Glob() = default;
    explicit Glob(std::string pattern) : pattern_(std::move(pattern)) {}
    bool matches(std::string_view text) const;
    /// Whether this one matches every text that `narrower` matches. True is certain; for some
    /// equivalent spellings (`?*`, `*?`) the answer is false.
    bool covers(const Glob& narrower) const;
    /// Whether there is a text that both match.
    bool overlaps(const Glob& other) const;
    const std::string& pattern() const { return pattern_; }
    /// An unset pattern, which its owner reads as "any".
    bool empty() const { return pattern_.empty(); }
    /// Whether it has no wildcards.
    bool is_literal() const { return pattern_.find_first_of("*?") == std::string::npos; }

private:
    std::string pattern_;
};

}  // namespace crab
