#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace crab::json {

/// One step through UTF-8.
struct CodePoint {
    char32_t value = 0;      ///< meaningless unless `valid`
    /// How far to go on; for an invalid part its maximal length (Unicode 15, section 3.9)
    std::size_t bytes = 1;
    bool valid = false;
};

/// Decodes the code point at the start of `text`, which is not empty. Surrogates and overlong forms
/// are invalid.
CodePoint decode_utf8(std::string_view text);
/// Appends the UTF-8 form of a Unicode scalar value.
void append_utf8(std::string& out, char32_t value);
/// The number of code points of valid UTF-8.
std::size_t count_code_points(std::string_view text);
/// Whether a person does not see `c`, or it makes others stand elsewhere than they are: format
/// characters, fillers, marks and overrides of direction, line separators. Joiners and variation
/// selectors are seen behind the scripts and emoji that have use for them; `before`: the code point
/// in front of it, 0 at the beginning.
bool is_hidden(char32_t c, char32_t before);

}  // namespace crab::json
