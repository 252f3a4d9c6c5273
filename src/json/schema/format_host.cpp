// Addresses and names of hosts, and mailboxes.

#include "json/scan.hpp"
#include "json/schema/format.hpp"
#include "json/schema/idn_label.hpp"

#include <algorithm>

namespace crab::json::formats {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxHostName = 253;

bool is_ascii_label(std::string_view label) {
    if (label.empty() || label.size() > kMaxLabel || label.front() == '-' || label.back() == '-')
        return false;
    const bool plain = std::ranges::all_of(
        label, [](char c) { return is_ascii_letter(c) || is_ascii_digit(c) || c == '-'; });
    if (!plain || label.size() < 4 || label.substr(2, 2) != "--") return plain;
    if ((label[0] | 0x20) != 'x' || (label[1] | 0x20) != 'n') return false;
    return to_u_label(label).has_value();
}

bool is_mailbox(std::string_view text, bool international) {
    const std::size_t sign = text.rfind('@');
    if (sign == std::string_view::npos) return false;
    const std::string_view local = text.substr(0, sign);
    const std::string_view domain = text.substr(sign + 1);
    const auto is_atom = [&](char c) {
        return is_ascii(c)
                   ? is_ascii_letter(c) || is_ascii_digit(c) ||
                         std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos
                   : international;
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
    if (text.empty() || text.size() > kMaxHostName) return false;
    while (true) {
        const std::size_t dot = text.find('.');
        if (!is_ascii_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_ipv4(std::string_view text) {
    Scan scan(text);
    for (int part = 0; part < 4; ++part) {
        if (part > 0 && !scan.skip('.')) return false;
        const std::string_view digits = scan.take_while(is_ascii_digit);
        if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0'))
            return false;
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
            if (group.empty() || group.size() > 4 || !std::ranges::all_of(group, is_ascii_hex))
                return false;
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
