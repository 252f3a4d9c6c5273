#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The parts of URLs that requests bring: encoded paths and queries, origins, hosts.
namespace crab::net {

/// Undoes percent-encoding as paths have it: `+` stays. Nothing for `%` without two hexadecimal
/// digits and for `%00`.
std::optional<std::string> percent_decode(std::string_view text);
/// Encodes everything but RFC 3986's unreserved characters, fit for a path segment and for a
/// query's name or value.
std::string percent_encode(std::string_view text);
/// Undoes the encoding of forms and queries: percent, and `+` for space. A `%` without two digits
/// stays as it is (WHATWG URL, section 5.1).
std::string form_decode(std::string_view text);

/// Calls `visit(name, value)` for each `name=value` of a query, still encoded, in order, until it
/// returns false.
template <class Visit>
void for_each_query(std::string_view query, Visit&& visit) {
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(pair.size() == query.size() ? pair.size() : pair.size() + 1);
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
        if (!visit(pair.substr(0, equals), value)) return;
    }
}
/// The decoded value of the first parameter whose decoded name is `name`.
std::optional<std::string> find_query(std::string_view query, std::string_view name);

/// A host as Host fields and URLs name it.
struct HostPort {
    std::string_view host;  ///< a name, an IPv4 address, or an IPv6 address without its brackets
    std::optional<std::uint16_t> port;
};
/// `name`, `name:port`, `[::1]:port`. Names have letters, digits and `-._`; nothing for anything
/// else.
std::optional<HostPort> parse_host(std::string_view text);

/// `scheme://host[:port]` and nothing more, as Origin fields have it. `null` is not an origin.
struct Origin {
    std::string_view scheme;
    std::string_view host;
    /// 80 for http and ws, 443 for https and wss when not given; 0 for others
    std::uint16_t port = 0;
};
std::optional<Origin> parse_origin(std::string_view text);

}  // namespace crab::net
