#pragma once

#include <string>
#include <string_view>

/// ASCII, whatever the locale is.
namespace crab {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// `text` with ASCII letters in lower case.
inline std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = to_lower(c);
    return out;
}

/// The value of a hexadecimal digit, or -1.
constexpr int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    const char lower = to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Compares without regard to ASCII case; `lower` is in lower case already.
constexpr bool equals_lower(std::string_view text, std::string_view lower) {
    if (text.size() != lower.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (to_lower(text[i]) != lower[i]) return false;
    }
    return true;
}

inline constexpr std::string_view kWhiteSpace = " \t\r\n";

/// Without any of `blanks` at either end.
constexpr std::string_view trim(std::string_view text, std::string_view blanks = " \t") {
    while (!text.empty() && blanks.contains(text.front())) text.remove_prefix(1);
    while (!text.empty() && blanks.contains(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace crab
