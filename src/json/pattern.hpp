#pragma once

#include "base/result.hpp"

#include <memory>
#include <string_view>

namespace crab::json {

/// A compiled regular expression of JSON Schema; immutable, so that threads may share it.
/// RE2 runs it in linear time. What RE2 has not (look-around, back-references) PCRE2 runs under limits: a search that
/// exceeds them counts as no match.
class Pattern {
public:
    /// Errors: kInvalidArgs when it is no ECMA-262 pattern or too large.
    static Result<Pattern> compile(std::string_view ecma);

    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    /// Whether the pattern occurs anywhere in `text`, which is valid UTF-8.
    bool search(std::string_view text) const;

private:
    struct Engine;
    explicit Pattern(std::unique_ptr<Engine> engine);
    std::unique_ptr<Engine> engine_;
};

}  // namespace crab::json
