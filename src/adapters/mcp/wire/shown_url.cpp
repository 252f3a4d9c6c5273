#include "adapters/mcp/wire/shown_url.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostBytes = 4096;

/// Takes a scheme away, compared without case.
bool take_scheme(std::string_view& url, std::string_view scheme) {
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    if (!std::ranges::equal(url.substr(0, scheme.size()), scheme, same)) return false;
    url.remove_prefix(scheme.size());
    return true;
}

/// The host of what stands before the path; empty if a user is named, who could hide it.
std::string_view host_of(std::string_view rest) {
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    if (authority.contains('@')) return {};
    if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
    return authority.substr(0, authority.find(':'));
}

}  // namespace

bool is_shown_url(std::string_view url) {
    // a letter of another script could stand for one of a name that people trust
    const auto is_fit = [](char c) { return c > 0x20 && c < 0x7f && c != '\\'; };
    if (url.size() > kMostBytes || !std::ranges::all_of(url, is_fit)) return false;
    if (take_scheme(url, "https://")) return !host_of(url).empty();
    if (!take_scheme(url, "http://")) return false;
    const std::string_view host = host_of(url);
    return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace crab::mcp
