#include "net/codec/url.hpp"

#include "base/percent.hpp"
#include "net/codec/http_text.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace crab::net {
namespace {

// inet_pton is a pure function of a string with a NUL; addresses are short.
bool is_ipv6(std::string_view text) {
    char copy[INET6_ADDRSTRLEN] = {};
    if (text.size() >= sizeof copy || text.contains('\0')) return false;
    std::ranges::copy(text, copy);
    in6_addr address;
    return inet_pton(AF_INET6, copy, &address) == 1;
}

bool is_name(std::string_view text) {
    constexpr std::size_t kMaxName = 255;
    if (text.empty() || text.size() > kMaxName) return false;
    return std::ranges::all_of(text, [](char c) {
        const char lower = to_lower(c);
        return (lower >= 'a' && lower <= 'z') || is_digit(c) || c == '-' || c == '.' || c == '_';
    });
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    if (text.empty() || text.size() > 5 || !std::ranges::all_of(text, is_digit))
        return std::nullopt;
    std::uint32_t port = 0;
    std::from_chars(text.data(), text.data() + text.size(), port);
    if (port > 0xffff) return std::nullopt;
    return static_cast<std::uint16_t>(port);
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
    auto decoded = crab::percent_decode(text);
    if (decoded && decoded->contains('\0')) return std::nullopt;
    return decoded;
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    constexpr std::string_view kUnreserved = "-._~";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        const char lower = to_lower(c);
        if ((lower >= 'a' && lower <= 'z') || is_digit(c) || kUnreserved.contains(c)) {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
        }
    }
    return out;
}

std::string form_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const int byte = percent_byte(text);
        if (byte >= 0) {
            out += static_cast<char>(byte);
            text.remove_prefix(3);
        } else {
            out += text.front() == '+' ? ' ' : text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

std::optional<std::string> find_query(std::string_view query, std::string_view name) {
    std::optional<std::string> found;
    for_each_query(query, [&](std::string_view encoded_name, std::string_view value) {
        const bool plain = encoded_name.find_first_of("%+") == std::string_view::npos;
        if (plain ? encoded_name != name : form_decode(encoded_name) != name) return true;
        found = form_decode(value);
        return false;
    });
    return found;
}

std::optional<HostPort> parse_host(std::string_view text) {
    HostPort parsed;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        parsed.host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
        if (!is_ipv6(parsed.host)) return std::nullopt;
    } else {
        parsed.host = text.substr(0, text.find(':'));
        rest = text.substr(parsed.host.size());
        if (!is_name(parsed.host)) return std::nullopt;
    }
    if (rest.empty()) return parsed;
    if (rest.front() != ':') return std::nullopt;
    parsed.port = parse_port(rest.substr(1));
    if (!parsed.port) return std::nullopt;
    return parsed;
}

std::optional<Origin> parse_origin(std::string_view text) {
    constexpr std::string_view kSeparator = "://";
    const std::size_t separator = text.find(kSeparator);
    if (separator == std::string_view::npos || separator == 0) return std::nullopt;
    const std::string_view scheme = text.substr(0, separator);
    const bool good_scheme = std::ranges::all_of(scheme, [](char c) {
        const char lower = to_lower(c);
        return (lower >= 'a' && lower <= 'z') || is_digit(c) || c == '+' || c == '-' || c == '.';
    });
    if (!good_scheme || is_digit(scheme.front())) return std::nullopt;
    const std::optional<HostPort> host = parse_host(text.substr(separator + kSeparator.size()));
    if (!host) return std::nullopt;
    const bool tls = equals_lower(scheme, "https") || equals_lower(scheme, "wss");
    const bool clear = equals_lower(scheme, "http") || equals_lower(scheme, "ws");
    const std::uint16_t usual = tls ? 443 : clear ? 80 : 0;
    return Origin{.scheme = scheme, .host = host->host, .port = host->port.value_or(usual)};
}

}  // namespace crab::net
