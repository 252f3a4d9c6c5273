#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace crab::json {

/// A compiled regular expression of JSON Schema; immutable, so that threads may share it. RE2 runs
/// it in linear time. PCRE2 runs what RE2 does not support (look-around, back-references) and what
/// would be a large program for it, under the caller's budget.
class Pattern {
public:
    /// Errors: kInvalidArgs when it is not an ECMA-262 pattern or too large.
    static Result<Pattern> compile(std::string_view ecma);

    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    /// Whether the pattern occurs anywhere in `text`, which is valid UTF-8. Charges the search to
    /// `budget`, in steps of about 50 ns; nothing when that is exhausted.
    std::optional<bool> search(std::string_view text, std::uint64_t& budget) const;
    /// Approximate memory use, including that of searches.
    std::size_t bytes() const;

private:
    struct Engine;
    explicit Pattern(std::unique_ptr<Engine> engine);
    std::unique_ptr<Engine> engine_;
};

}  // namespace crab::json
