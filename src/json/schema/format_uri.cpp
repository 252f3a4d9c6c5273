// URIs, IRIs, URI templates, UUIDs and JSON pointers.

#include "json/pointer.hpp"
#include "json/scan.hpp"
#include "json/schema/format.hpp"
#include "json/schema/uri.hpp"

#include <algorithm>

namespace crab::json::formats {
namespace {

enum class Alphabet { kAscii, kUnicode };

// Whether every byte is unreserved, a sub-delimiter, percent-encoded or one of `extra` (RFC 3986,
// section 2; RFC 3987, ucschar).
bool is_made_of(std::string_view text, std::string_view extra, Alphabet alphabet) {
    constexpr std::string_view kMarks = "-._~!$&'()*+,;=";
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '%') {
            if (at + 2 >= text.size() || !is_ascii_hex(text[at + 1]) || !is_ascii_hex(text[at + 2]))
                return false;
            at += 2;
        } else if (!is_ascii(c)) {
            if (alphabet == Alphabet::kAscii) return false;
        } else if (!is_ascii_letter(c) && !is_ascii_digit(c) &&
                   kMarks.find(c) == std::string_view::npos &&
                   extra.find(c) == std::string_view::npos) {
            return false;
        }
    }
    return true;
}

bool is_authority(std::string_view text, Alphabet alphabet) {
    if (const std::size_t sign = text.find('@'); sign != std::string_view::npos) {
        if (!is_made_of(text.substr(0, sign), ":", alphabet)) return false;
        text.remove_prefix(sign + 1);
    }
    std::string_view host = text;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return false;
        host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        Scan future(host);
        if (future.skip_any("vV")) {
            if (future.take_while(is_ascii_hex).empty() || !future.skip('.') || future.done() ||
                !is_made_of(future.rest(), ":", Alphabet::kAscii))
                return false;
        } else if (!is_ipv6(host)) {
            return false;
        }
    } else {
        const std::size_t colon = text.find(':');
        host = text.substr(0, colon);
        text.remove_prefix(host.size());
        if (!is_made_of(host, "", alphabet)) return false;
    }
    return text.empty() || (text[0] == ':' && std::ranges::all_of(text.substr(1), is_ascii_digit));
}

bool is_reference(std::string_view text, Alphabet alphabet, bool absolute) {
    const UriParts parts = split_uri(text);
    if (absolute && !parts.scheme) return false;
    if (parts.authority && !is_authority(*parts.authority, alphabet)) return false;
    if (!is_made_of(parts.path, ":@/", alphabet)) return false;
    if (!parts.scheme && !parts.authority &&
        parts.path.substr(0, parts.path.find('/')).find(':') != std::string_view::npos)
        return false;
    return (!parts.query || is_made_of(*parts.query, ":@/?", alphabet)) &&
           (!parts.fragment || is_made_of(*parts.fragment, ":@/?", alphabet));
}

// One `name`, `name:3` or `name*` of an expression (RFC 6570, section 2.3 and 2.4).
bool scan_variable(Scan& scan) {
    do {
        bool any = false;
        while (!scan.done()) {
            if (scan.skip('%')) {
                if (!is_ascii_hex(scan.peek()) || !scan.skip(scan.peek()) ||
                    !is_ascii_hex(scan.peek()) || !scan.skip(scan.peek()))
                    return false;
            } else if (is_ascii_letter(scan.peek()) || is_ascii_digit(scan.peek()) ||
                       scan.peek() == '_') {
                scan.skip(scan.peek());
            } else {
                break;
            }
            any = true;
        }
        if (!any) return false;
    } while (scan.skip('.'));
    if (scan.skip('*') || !scan.skip(':')) return true;
    const std::string_view length = scan.take_while(is_ascii_digit);
    return !length.empty() && length.size() <= 4 && length[0] != '0';
}

}  // namespace

bool is_uri(std::string_view text) { return is_reference(text, Alphabet::kAscii, true); }
bool is_uri_reference(std::string_view text) { return is_reference(text, Alphabet::kAscii, false); }
bool is_iri(std::string_view text) { return is_reference(text, Alphabet::kUnicode, true); }
bool is_iri_reference(std::string_view text) {
    return is_reference(text, Alphabet::kUnicode, false);
}

bool is_uri_template(std::string_view text) {
    Scan scan(text);
    while (!scan.done()) {
        const char c = scan.peek();
        scan.skip(c);
        if (c == '{') {
            scan.skip_any("+#./;?&=,!@|");
            do {
                if (!scan_variable(scan)) return false;
            } while (scan.skip(','));
            if (!scan.skip('}')) return false;
        } else if (c == '%') {
            if (!is_ascii_hex(scan.peek()) || !scan.skip(scan.peek()) ||
                !is_ascii_hex(scan.peek()) || !scan.skip(scan.peek()))
                return false;
        } else if (is_ascii(c) &&
                   (c <= ' ' || c == 0x7F ||
                    std::string_view("\"<>\\^`|}").find(c) != std::string_view::npos)) {
            return false;
        }
    }
    return true;
}

bool is_uuid(std::string_view text) {
    if (text.size() != 36) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
        if (dash ? text[at] != '-' : !is_ascii_hex(text[at])) return false;
    }
    return true;
}

bool is_json_pointer(std::string_view text) {
    if (text.empty()) return true;
    if (text[0] != '/') return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '~' &&
            (at + 1 == text.size() || (text[at + 1] != '0' && text[at + 1] != '1')))
            return false;
    }
    return true;
}

bool is_relative_json_pointer(std::string_view text) {
    Scan scan(text);
    const std::string_view up = scan.take_while(is_ascii_digit);
    if (up.empty() || (up.size() > 1 && up[0] == '0')) return false;
    return scan.rest() == "#" || is_json_pointer(scan.rest());
}

}  // namespace crab::json::formats
