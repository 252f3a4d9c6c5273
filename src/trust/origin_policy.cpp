#include "trust/origin_policy.hpp"

#include "base/ascii.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace crab::trust {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

bool is_scheme(std::string_view text) {
    return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
        return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
    });
}

bool is_host(std::string_view text) {
    if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
        text = text.substr(1, text.size() - 2);
        return std::ranges::all_of(text, [](char c) {
            return is_digit(c) || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
        });
    }
    return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
        return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
    });
}

std::uint16_t default_port(std::string_view scheme) {
    if (scheme == "http") return 80;
    if (scheme == "https") return 443;
    return 0;
}

struct Authority {
    std::string host;
    std::optional<std::uint16_t> port;
};

/// `host[:port]`, lower-case.
std::optional<Authority> parse_authority(std::string_view text) {
    Authority authority;
    const std::size_t bracket = text.find(']');
    const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
    authority.host = lower_case(text.substr(0, colon));
    if (!is_host(authority.host)) return std::nullopt;
    if (colon == std::string_view::npos) return authority;
    const std::string_view digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port == 0)
        return std::nullopt;
    authority.port = port;
    return authority;
}

bool is_loopback(std::string_view host) {
    if (host == "localhost" || host == "[::1]") return true;
    if (!host.starts_with("127.")) return false;
    // 127.0.0.1 and its network, written as four numbers: `127.evil.example` is a name.
    int dots = 0;
    std::size_t digits = 0;
    for (const char c : host) {
        if (c == '.') {
            if (digits == 0) return false;
            ++dots;
            digits = 0;
        } else if (!is_digit(c) || ++digits > 3) {
            return false;
        }
    }
    return dots == 3 && digits > 0;
}

}  // namespace

std::optional<Origin> parse_origin(std::string_view text) {
    const std::size_t mark = text.find("://");
    if (mark == std::string_view::npos) return std::nullopt;
    Origin origin{.scheme = lower_case(text.substr(0, mark))};
    auto authority = parse_authority(text.substr(mark + 3));
    if (!is_scheme(origin.scheme) || !authority) return std::nullopt;
    origin.host = std::move(authority->host);
    origin.port = authority->port.value_or(default_port(origin.scheme));
    return origin;
}

std::optional<std::string> host_name_of(std::string_view host_header) {
    auto authority = parse_authority(host_header);
    if (!authority) return std::nullopt;
    if (authority->host.size() > 1 && authority->host.ends_with('.')) authority->host.pop_back();
    return std::move(authority->host);
}

bool is_host_allowed(std::string_view host_header, std::span<const std::string> names) {
    const auto host = host_name_of(host_header);
    if (!host) return false;
    if (is_loopback(*host)) return true;
    return std::ranges::any_of(names,
                               [&](const std::string& name) { return host_name_of(name) == host; });
}

bool is_origin_allowed(std::optional<std::string_view> origin, std::string_view scheme,
                       std::string_view host_header, std::span<const std::string> allowed) {
    if (!origin) return true;
    const auto theirs = parse_origin(*origin);
    if (!theirs) return false;
    if (theirs == parse_origin(fmt::format("{}://{}", scheme, host_header))) return true;
    return std::ranges::any_of(
        allowed, [&](const std::string& entry) { return parse_origin(entry) == theirs; });
}

}  // namespace crab::trust
