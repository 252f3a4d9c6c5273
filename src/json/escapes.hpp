#pragma once

namespace crab::json {

/// What a backslash and `letter` stand for (RFC 8259, section 7); a NUL for `u`, which takes more,
/// and for what is no escape.
constexpr char escaped_character(char letter) {
    switch (letter) {
        case '"':
        case '\\':
        case '/': return letter;
        case 'b': return '\b';
        case 'f': return '\f';
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        default: return '\0';
    }
}

}  // namespace crab::json
