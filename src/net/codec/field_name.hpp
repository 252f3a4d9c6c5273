#pragma once

#include "base/ascii.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace crab::net {

namespace detail {

/// Eight bytes with ASCII letters in lower case.
inline std::uint64_t lower_word(std::uint64_t word) {
    constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101, kHighs = kOnes * 0x80;
    const std::uint64_t low = word & ~kHighs;
    const std::uint64_t from_a = low + kOnes * (0x80 - 'A');  // their highest bits: 'A' and above
    const std::uint64_t above_z = low + kOnes * (0x7f - 'Z');  // and above 'Z'
    return word | ((from_a & ~above_z & ~word & kHighs) >> 2);
}

inline std::uint64_t word_at(const char* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

}  // namespace detail

/// What equals_lower() says, eight bytes at a time: for names of header fields, which each request
/// has a dozen of.
inline bool is_field(std::string_view name, std::string_view lower) {
    constexpr std::size_t kWord = 8;
    if (name.size() != lower.size()) return false;
    if (name.size() < kWord) return equals_lower(name, lower);
    const auto same = [&](std::size_t at) {
        return detail::lower_word(detail::word_at(name.data() + at)) ==
               detail::word_at(lower.data() + at);
    };
    for (std::size_t at = 0; at + kWord < name.size(); at += kWord)
        if (!same(at)) return false;
    return same(name.size() - kWord);  // the last word overlaps what was looked at
}

}  // namespace crab::net
