#include "json/unicode.hpp"

#include <algorithm>
#include <span>

namespace crab::json {
namespace {

struct Range {
    char32_t first, last;
};

bool is_in(std::span<const Range> ranges, char32_t c) {
    return std::ranges::any_of(
        ranges, [&](const Range& range) { return range.first <= c && c <= range.last; });
}

/// Where a joiner changes how the characters around it look: Arabic and Indic scripts, emoji.
bool is_joined(char32_t c) {
    static constexpr Range kJoined[] = {{0x0600, 0x109F},   {0x1700, 0x1AFF},   {0x2190, 0x2BFF},
                                        {0xA800, 0xABFF},   {0xFB50, 0xFDFF},   {0xFE0F, 0xFE0F},
                                        {0x10A00, 0x11FFF}, {0x1E900, 0x1E95F}, {0x1F000, 0x1FAFF}};
    return is_in(kJoined, c);
}

bool is_ideograph(char32_t c) {
    return (c >= 0x3400 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x20000 && c <= 0x3FFFF);
}

/// Characters that may be drawn as signs or as pictures.
bool has_emoji_forms(char32_t c) {
    return (c >= '0' && c <= '9') || c == '#' || c == '*' || c == 0xA9 || c == 0xAE ||
           (c >= 0x203C && c <= 0x3299) || c >= 0x1F000;
}

}  // namespace

CodePoint decode_utf8(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return {first, 1, true};
    if (first < 0xC2 || first > 0xF4) return {};
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    // The second byte's range keeps overlong forms, surrogates and values beyond U+10FFFF out.
    const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    char32_t value = first & (0x7Fu >> length);
    for (std::size_t at = 1; at < length; ++at) {
        if (at >= text.size()) return {0, at, false};
        const unsigned char next = byte(at);
        if (next < (at == 1 ? low : 0x80) || next > (at == 1 ? high : 0xBF)) return {0, at, false};
        value = (value << 6) | (next & 0x3Fu);
    }
    return {value, length, true};
}

void append_utf8(std::string& out, char32_t value) {
    const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
    if (value < 0x80) {
        put(value);
    } else if (value < 0x800) {
        put(0xC0 | (value >> 6));
        put(0x80 | (value & 0x3F));
    } else if (value < 0x10000) {
        put(0xE0 | (value >> 12));
        put(0x80 | ((value >> 6) & 0x3F));
        put(0x80 | (value & 0x3F));
    } else {
        put(0xF0 | (value >> 18));
        put(0x80 | ((value >> 12) & 0x3F));
        put(0x80 | ((value >> 6) & 0x3F));
        put(0x80 | (value & 0x3F));
    }
}

std::size_t count_code_points(std::string_view text) {
    std::size_t count = 0;
    for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80 ? 1 : 0;
    return count;
}

bool is_hidden(char32_t c, char32_t before) {
    static constexpr Range kHidden[] = {{0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},
                                        {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
                                        {0x200B, 0x200B},   {0x200E, 0x200F},   {0x2028, 0x202E},
                                        {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFEFF, 0xFEFF},
                                        {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x1BCA0, 0x1BCA3},
                                        {0x1D173, 0x1D17A}, {0xE0000, 0xE00FF}, {0xE01F0, 0xE0FFF}};
    if (c == 0x200C || c == 0x200D) return !is_joined(before);
    if (c >= 0xFE00 && c <= 0xFE0F) return !has_emoji_forms(before) && !is_ideograph(before);
    if (c >= 0xE0100 && c <= 0xE01EF) return !is_ideograph(before);
    return is_in(kHidden, c);
}

}  // namespace crab::json
