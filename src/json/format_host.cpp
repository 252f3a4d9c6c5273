// Addresses and names of hosts, and mailboxes.

#include "json/format.hpp"
#include "json/punycode.hpp"
#include "json/scan.hpp"
#include "json/unicode.hpp"

#include <algorithm>
#include <string>

namespace crab::json::formats {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxName = 253;

bool is_one_of(char32_t c, std::u32string_view set) { return set.find(c) != std::u32string_view::npos; }
bool in(char32_t c, char32_t low, char32_t high) { return c >= low && c <= high; }

// The combining marks that a label cannot begin with, in the blocks that hold most of them.
bool is_mark(char32_t c) {
    return in(c, 0x300, 0x36F) || in(c, 0x483, 0x489) || in(c, 0x591, 0x5BD) || in(c, 0x610, 0x61A) || in(c, 0x64B, 0x65F) || in(c, 0x900, 0x903) ||
           in(c, 0x93A, 0x93C) || in(c, 0x93E, 0x94F) || in(c, 0x1AB0, 0x1AFF) || in(c, 0x1DC0, 0x1DFF) || in(c, 0x20D0, 0x20FF) ||
           in(c, 0x302A, 0x302F) || in(c, 0x3099, 0x309A) || in(c, 0xFE20, 0xFE2F);
}

bool is_virama(char32_t c) {
    return is_one_of(c, U"\x94D\x9CD\xA4D\xACD\xB4D\xBCD\xC4D\xCCD\xD3B\xD3C\xD4D\xDCA\xE3A\xF84\x1039\x103A\x1714\x1734\x17D2\x1A60\x1B44");
}

bool is_greek(char32_t c) { return in(c, 0x370, 0x3FF) || in(c, 0x1F00, 0x1FFF); }
bool is_hebrew(char32_t c) { return in(c, 0x591, 0x5F4); }
bool is_kana_or_han(char32_t c) {
    return in(c, 0x3041, 0x3096) || in(c, 0x309D, 0x309F) || in(c, 0x30A1, 0x30FA) || in(c, 0x30FC, 0x30FF) || in(c, 0x3400, 0x4DBF) ||
           in(c, 0x4E00, 0x9FFF) || c == 0x3005 || c == 0x3007 || in(c, 0x20000, 0x3FFFF);
}

// RFC 5892, section 2.6 (exceptions), and signs that no label may hold.
bool is_disallowed(char32_t c) {
    if (c < 0x80) return !(in(c, 'a', 'z') || in(c, 'A', 'Z') || in(c, '0', '9') || c == '-');
    return is_one_of(c, U"\x640\x7FA\x302E\x302F\x3031\x3032\x3033\x3034\x3035\x303B\x3002\xFF0E\xFF61\x2024") || in(c, 0x80, 0xB6) ||
           in(c, 0xB8, 0xBF) || c == 0xD7 || c == 0xF7 || in(c, 0x2000, 0x200B) || in(c, 0x200E, 0x203E) || in(c, 0x2190, 0x2BFF) ||
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
    if (c == 0x200C || c == 0x200D) return is_virama(before) || (c == 0x200C && at > 0 && in(before, 0x620, 0x7FF) && in(after, 0x620, 0x7FF));
    if (c == 0x30FB) return std::ranges::any_of(label, is_kana_or_han);
    const auto holds = [&](char32_t low, char32_t high) { return std::ranges::any_of(label, [&](char32_t other) { return in(other, low, high); }); };
    if (in(c, 0x660, 0x669)) return !holds(0x6F0, 0x6F9);
    if (in(c, 0x6F0, 0x6F9)) return !holds(0x660, 0x669);
    return true;
}

bool is_unicode_label(const std::u32string& label) {
    if (label.empty() || label.front() == '-' || label.back() == '-' || is_mark(label.front())) return false;
    if (label.size() >= 4 && label[2] == '-' && label[3] == '-') return false;
    for (std::size_t at = 0; at < label.size(); ++at) {
        if (is_disallowed(label[at]) || !fits_context(label, at)) return false;
    }
    return punycode_size(label) + 4 <= kMaxLabel;
}

bool is_ascii_label(std::string_view label) {
    if (label.empty() || label.size() > kMaxLabel || label.front() == '-' || label.back() == '-') return false;
    const bool plain = std::ranges::all_of(label, [](char c) { return is_ascii_letter(c) || is_ascii_digit(c) || c == '-'; });
    if (!plain || label.size() < 4 || label.substr(2, 2) != "--") return plain;
    if ((label[0] | 0x20) != 'x' || (label[1] | 0x20) != 'n') return false;
    const auto decoded = decode_punycode(label.substr(4));
    return decoded && std::ranges::any_of(*decoded, [](char32_t c) { return c >= 0x80; }) && is_unicode_label(*decoded);
}

bool is_any_label(std::string_view label) {
    if (std::ranges::all_of(label, is_ascii)) return is_ascii_label(label);
    std::u32string points;
    while (!label.empty()) {
        const CodePoint next = decode_utf8(label);
        if (!next.valid) return false;
        points += next.value;
        label.remove_prefix(next.bytes);
    }
    return is_unicode_label(points);
}

bool is_mailbox(std::string_view text, bool international) {
    const std::size_t sign = text.rfind('@');
    if (sign == std::string_view::npos) return false;
    const std::string_view local = text.substr(0, sign);
    const std::string_view domain = text.substr(sign + 1);
    const auto is_atom = [&](char c) {
        return is_ascii(c) ? is_ascii_letter(c) || is_ascii_digit(c) || std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos : international;
    };
    Scan scan(local);
    if (scan.skip('"')) {
        while (!scan.done() && scan.peek() != '"') {
            scan.skip('\\');
            const char c = scan.peek();
            if (scan.done() || c < ' ' ? (is_ascii(c) || !international) : c == 0x7F) return false;
            scan.skip(c);
        }
        if (!scan.skip('"') || !scan.done()) return false;
    } else {
        do {
            if (scan.take_while(is_atom).empty()) return false;
        } while (scan.skip('.'));
        if (!scan.done()) return false;
    }
    if (domain.starts_with('[') && domain.ends_with(']')) {
        const std::string_view literal = domain.substr(1, domain.size() - 2);
        return literal.starts_with("IPv6:") ? is_ipv6(literal.substr(5)) : is_ipv4(literal);
    }
    return international ? is_idn_hostname(domain) : is_hostname(domain);
}

}  // namespace

bool is_hostname(std::string_view text) {
    if (text.empty() || text.size() > kMaxName) return false;
    while (true) {
        const std::size_t dot = text.find('.');
        if (!is_ascii_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_idn_hostname(std::string_view text) {
    // The full stops that IDNA takes for a dot (RFC 3490, section 3.1).
    std::string name;
    for (std::string_view rest = text; !rest.empty();) {
        if (rest.starts_with("\xE3\x80\x82") || rest.starts_with("\xEF\xBC\x8E") || rest.starts_with("\xEF\xBD\xA1")) {
            name += '.';
            rest.remove_prefix(3);
        } else {
            name += rest[0];
            rest.remove_prefix(1);
        }
    }
    if (name.empty() || name.size() > 4 * kMaxName) return false;
    for (std::string_view rest = name;;) {
        const std::size_t dot = rest.find('.');
        if (!is_any_label(rest.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        rest.remove_prefix(dot + 1);
    }
}

bool is_ipv4(std::string_view text) {
    Scan scan(text);
    for (int part = 0; part < 4; ++part) {
        if (part > 0 && !scan.skip('.')) return false;
        const std::string_view digits = scan.take_while(is_ascii_digit);
        if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0')) return false;
        if (digits.size() == 3 && digits > "255") return false;
    }
    return scan.done();
}

bool is_ipv6(std::string_view text) {
    int groups = 0;
    bool gap = false;
    if (text.starts_with("::")) {
        gap = true;
        text.remove_prefix(2);
        if (text.empty()) return true;
    }
    while (true) {
        const std::size_t colon = text.find(':');
        const std::string_view group = text.substr(0, colon);
        if (colon == std::string_view::npos && group.find('.') != std::string_view::npos) {
            groups += 2;
            if (!is_ipv4(group)) return false;
        } else {
            ++groups;
            if (group.empty() || group.size() > 4 || !std::ranges::all_of(group, is_ascii_hex)) return false;
        }
        if (colon == std::string_view::npos) break;
        text.remove_prefix(colon + 1);
        if (text.starts_with(':')) {
            if (gap) return false;
            gap = true;
            text.remove_prefix(1);
            if (text.empty()) break;
        }
    }
    return gap ? groups < 8 : groups == 8;
}

bool is_email(std::string_view text) { return is_mailbox(text, false); }
bool is_idn_email(std::string_view text) { return is_mailbox(text, true); }

}  // namespace crab::json::formats
