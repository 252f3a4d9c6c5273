#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace crab::json {

/// An ECMA-262 pattern (Unicode mode, no flags) in the syntax that RE2 and PCRE2 share.
struct TranslatedRegex {
    std::string text;
    /// look-around, a back-reference or a property that only PCRE2 has
    bool needs_backtracking = false;
};

/// Translates what JSON Schema calls a regular expression (2020-12 core, section 6.4; ECMA-262,
/// section 22.2.1).
/// `^` and `$` hold at the ends of the text only, `\s` is Unicode's, `\d` and `\w` are ASCII. More
/// lenient than the standard in two things that occur in practice: a `{` or `]` that begins no
/// quantifier or ends no class is itself, and so is an escaped punctuation mark. Errors:
/// kInvalidArgs with what is wrong and where.
Result<TranslatedRegex> translate_ecma_regex(std::string_view pattern);

}  // namespace crab::json
