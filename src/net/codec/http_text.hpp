#pragma once

#include "base/ascii.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// Character classes and small scans that every HTTP field needs. ASCII only, no locale, no
/// allocation.
namespace crab::net {

inline constexpr std::string_view kJsonType = "application/json";

enum CharClass : std::uint8_t {
    kTokenChar = 1,   ///< RFC 9110 section 5.6.2, tchar
    /// RFC 3986, and what browsers leave unescaped in queries (`|{}^` and backtick); never `"#<>\`
    kTargetChar = 2,
    kHostChar = 4,  ///< RFC 3986 section 3.2.2 and 3.2.3, without user information
    kValueChar = 8,  ///< RFC 9110 section 5.5: printable, space, tab, 0x80-0xff
    kHexChar = 16,
};

inline constexpr std::array<std::uint8_t, 256> kCharClasses = [] {
    std::array<std::uint8_t, 256> table{};
    const auto add = [&](std::string_view chars, std::uint8_t bit) {
        for (const char c : chars) table[static_cast<unsigned char>(c)] |= bit;
    };
    constexpr std::string_view kAlnum =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    add(kAlnum, kTokenChar | kTargetChar | kHostChar);
    add("!#$%&'*+-.^_`|~", kTokenChar);
    add("-._~!$&'()*+,;=:@/?%[]|{}^`", kTargetChar);
    add("-._~!$&'()*+,;=:[]%", kHostChar);
    add("0123456789abcdefABCDEF", kHexChar);
    for (std::size_t c = 0; c < 256; ++c) {
        if (c == '\t' || (c >= 0x20 && c != 0x7f)) table[c] |= kValueChar;
    }
    return table;
}();

constexpr bool has_class(char c, CharClass wanted) {
    return (kCharClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

constexpr bool all_of_class(std::string_view text, CharClass wanted) {
    for (const char c : text) {
        if (!has_class(c, wanted)) return false;
    }
    return true;
}

/// Calls `visit(element)` for each non-empty element of a comma-separated list (RFC 9110
/// section 5.6.1), until it returns false. Quoted strings are not understood; for lists of tokens
/// only. Returns false when a visit did.
template <class Visit>
constexpr bool for_each_element(std::string_view list, Visit&& visit) {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        const std::string_view element = trim(list.substr(0, comma));
        if (!element.empty() && !visit(element)) return false;
        if (comma == std::string_view::npos) break;
        list.remove_prefix(comma + 1);
    }
    return true;
}

/// The first byte in [at, end) that may not stand in a field value (a control character other than
/// tab), or `end`. Eight bytes at a time: a borrow can only mark bytes above the first true hit, so
/// the lowest mark is exact.
inline const char* find_non_value(const char* at, const char* end) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
    constexpr std::uint64_t kHigh = 0x8080'8080'8080'8080;
    while (true) {
        std::uint64_t marks = 0;
        while (end - at >= 8) {
            std::uint64_t word;
            std::memcpy(&word, at, sizeof word);
            const std::uint64_t rubout = word ^ (kOnes * 0x7f);
            marks = (((word - kOnes * 0x20) & ~word) | ((rubout - kOnes) & ~rubout)) & kHigh;
            if (marks != 0) break;
            at += 8;
        }
        if (marks != 0) {
            at += std::countr_zero(marks) / 8;
        } else {
            while (at != end && has_class(*at, kValueChar)) ++at;
            return at;
        }
        if (*at != '\t') return at;
        ++at;
    }
}

}  // namespace crab::net
