#include "json/unicode.hpp"

namespace crab::json {

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

}  // namespace crab::json
