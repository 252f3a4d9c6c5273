#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace crab {

/// A pattern over names: `*` stands for any run of characters, `?` for one; the rest for itself.
class Glob {
public:
    Glob() = default;
    explicit Glob(std::string pattern) : pattern_(std::move(pattern)) {}
    bool matches(std::string_view text) const;
    const std::string& pattern() const { return pattern_; }
    /// An unset pattern, which its owner reads as "any".
    bool empty() const { return pattern_.empty(); }

private:
    std::string pattern_;
};

}  // namespace crab
