#include "json/schema/idn_label.hpp"

#include "json/schema/punycode.hpp"

#include <algorithm>

namespace crab::json {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::string_view kPrefix = "xn--";

bool is_one_of(char32_t c, std::u32string_view set) {
    return set.find(c) != std::u32string_view::npos;
}
bool in(char32_t c, char32_t low, char32_t high) { return c >= low && c <= high; }

// The combining marks that a label cannot begin with, in the blocks that hold most of them.
bool is_mark(char32_t c) {
    return in(c, 0x300, 0x36F) || in(c, 0x483, 0x489) || in(c, 0x591, 0x5BD) ||
           in(c, 0x610, 0x61A) || in(c, 0x64B, 0x65F) || in(c, 0x900, 0x903) ||
           in(c, 0x93A, 0x93C) || in(c, 0x93E, 0x94F) || in(c, 0x1AB0, 0x1AFF) ||
           in(c, 0x1DC0, 0x1DFF) || in(c, 0x20D0, 0x20FF) || in(c, 0x302A, 0x302F) ||
           in(c, 0x3099, 0x309A) || in(c, 0xFE20, 0xFE2F);
}

bool is_virama(char32_t c) {
    return is_one_of(c,
                     U"\x94D\x9CD\xA4D\xACD\xB4D\xBCD\xC4D\xCCD\xD3B\xD3C\xD4D\xDCA\xE3A\xF84\x1039"
                     U"\x103A\x1714\x1734\x17D2\x1A60\x1B44");
}

bool is_greek(char32_t c) { return in(c, 0x370, 0x3FF) || in(c, 0x1F00, 0x1FFF); }
bool is_hebrew(char32_t c) { return in(c, 0x591, 0x5F4); }
bool is_kana_or_han(char32_t c) {
    return in(c, 0x3041, 0x3096) || in(c, 0x309D, 0x309F) || in(c, 0x30A1, 0x30FA) ||
           in(c, 0x30FC, 0x30FF) || in(c, 0x3400, 0x4DBF) || in(c, 0x4E00, 0x9FFF) || c == 0x3005 ||
           c == 0x3007 || in(c, 0x20000, 0x3FFFF);
}

// RFC 5892, section 2.6 (exceptions), and signs that no label may hold.
bool is_disallowed(char32_t c) {
    if (c < 0x80) return !(in(c, 'a', 'z') || in(c, 'A', 'Z') || in(c, '0', '9') || c == '-');
    return is_one_of(c,
                     U"\x640\x7FA\x302E\x302F\x3031\x3032\x3033\x3034\x3035\x303B\x3002\xFF0E\xFF61"
                     U"\x2024") ||
           in(c, 0x80, 0xB6) || in(c, 0xB8, 0xBF) || c == 0xD7 || c == 0xF7 ||
           in(c, 0x2000, 0x200B) || in(c, 0x200E, 0x203E) || in(c, 0x2190, 0x2BFF) ||
           in(c, 0x1F000, 0x1FAFF) || in(c, 0xE000, 0xF8FF);
}

// RFC 5892, appendix A: signs that are allowed beside certain others only.
bool fits_context(const std::u32string& label, std::size_t at) {
    const char32_t c = label[at];
    const char32_t before = at > 0 ? label[at - 1] : 0;
    const char32_t after = at + 1 < label.size() ? label[at + 1] : 0;
    if (c == 0xB7) return before == 'l' && after == 'l';
    if (c == 0x375) return is_greek(after);
    if (c == 0x5F3 || c == 0x5F4) return is_hebrew(before);
    if (c == 0x200C || c == 0x200D)
        return is_virama(before) ||
               (c == 0x200C && at > 0 && in(before, 0x620, 0x7FF) && in(after, 0x620, 0x7FF));
    if (c == 0x30FB) return std::ranges::any_of(label, is_kana_or_han);
    const auto holds = [&](char32_t low, char32_t high) {
        return std::ranges::any_of(label, [&](char32_t other) { return in(other, low, high); });
    };
    if (in(c, 0x660, 0x669)) return !holds(0x6F0, 0x6F9);
    if (in(c, 0x6F0, 0x6F9)) return !holds(0x660, 0x669);
    return true;
}

bool is_sound(const std::u32string& label) {
    if (label.empty() || label.front() == '-' || label.back() == '-' || is_mark(label.front()))
        return false;
    if (label.size() >= 4 && label[2] == '-' && label[3] == '-') return false;
    for (std::size_t at = 0; at < label.size(); ++at) {
        if (is_disallowed(label[at]) || !fits_context(label, at)) return false;
    }
    return true;
}

enum class Direction { kLeft, kRight, kEuropeanDigit, kArabicDigit, kMark, kNeutral };

Direction direction_of(char32_t c) {
    if (in(c, '0', '9') || in(c, 0x6F0, 0x6F9)) return Direction::kEuropeanDigit;
    if (in(c, 0x660, 0x669) || c == 0x66B || c == 0x66C || c == 0x6DD)
        return Direction::kArabicDigit;
    if (is_mark(c)) return Direction::kMark;
    if (in(c, 0x590, 0x8FF) || in(c, 0xFB1D, 0xFDFF) || in(c, 0xFE70, 0xFEFC) ||
        in(c, 0x10800, 0x10FFF) || in(c, 0x1E800, 0x1EFFF))
        return Direction::kRight;
    return c == '-' || c == 0xB7 || in(c, 0x200C, 0x200D) ? Direction::kNeutral : Direction::kLeft;
}

bool keeps_bidi_rule(const std::u32string& label) {
    const Direction first = direction_of(label.front());
    if (first != Direction::kLeft && first != Direction::kRight) return false;
    const auto holds = [&](Direction direction) {
        return std::ranges::any_of(label, [&](char32_t c) { return direction_of(c) == direction; });
    };
    const auto last = std::ranges::find_if(label.rbegin(), label.rend(), [](char32_t c) {
        return direction_of(c) != Direction::kMark;
    });
    const Direction end = direction_of(*last);
    if (first == Direction::kLeft) {
        return !holds(Direction::kRight) && !holds(Direction::kArabicDigit) &&
               (end == Direction::kLeft || end == Direction::kEuropeanDigit);
    }
    const bool both_digits = holds(Direction::kEuropeanDigit) && holds(Direction::kArabicDigit);
    return !holds(Direction::kLeft) && !both_digits && end != Direction::kNeutral;
}

}  // namespace

bool is_u_label(const std::u32string& label) {
    return is_sound(label) && kPrefix.size() + punycode_of(label).size() <= kMaxLabel;
}

std::optional<std::u32string> decode_a_label(std::string_view label) {
    if (label.size() <= kPrefix.size()) return std::nullopt;
    std::string lower(label.substr(kPrefix.size()));
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    });
    auto decoded = decode_punycode(lower);
    if (!decoded || !std::ranges::any_of(*decoded, [](char32_t c) { return c >= 0x80; }))
        return std::nullopt;
    if (!is_u_label(*decoded) || punycode_of(*decoded) != lower || !keep_bidi_rule({&*decoded, 1}))
        return std::nullopt;
    return decoded;
}

bool keep_bidi_rule(std::span<const std::u32string> labels) {
    const bool is_bidi = std::ranges::any_of(labels, [](const std::u32string& label) {
        return std::ranges::any_of(label, [](char32_t c) {
            return direction_of(c) == Direction::kRight ||
                   direction_of(c) == Direction::kArabicDigit;
        });
    });
    return !is_bidi || std::ranges::all_of(labels, keeps_bidi_rule);
}

}  // namespace crab::json
