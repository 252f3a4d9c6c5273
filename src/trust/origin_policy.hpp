#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::trust {

/// An origin in the sense of RFC 6454, section 4: lower-case scheme and host, port with the
/// scheme's default filled in.
struct Origin {
    /// `http` or `https`, or another one that a configuration names, such as `app`
    std::string scheme;
    std::string host;       ///< a name, an IPv4 address, or an IPv6 address in brackets
    std::uint16_t port = 0; ///< 0: the scheme has no default, and none was given

    friend bool operator==(const Origin&, const Origin&) = default;
};

/// `scheme://host[:port]` and nothing else; nothing for `null`, paths, user names and other text.
std::optional<Origin> parse_origin(std::string_view text);
/// The host of a Host header or authority, lower-case and without port and trailing dot; nothing
/// for malformed ones.
std::optional<std::string> host_name_of(std::string_view host_header);

/// Whether the request's `Host` names this gateway: loopback (`localhost`, 127.0.0.0/8, `[::1]`) or
/// one of `names`, whatever the port. This is what stops DNS rebinding, so an absent Host is
/// refused.
bool is_host_allowed(std::string_view host_header, std::span<const std::string> names);

/// Whether a request may come from `origin`. Absent (nothing): a native client, yes. Otherwise it
/// has to be the gateway's own origin (`scheme` of the listener and `host_header`, which
/// is_host_allowed() has to have accepted) or one of `allowed`, equal in scheme, host and port.
/// `null` never is.
bool is_origin_allowed(std::optional<std::string_view> origin, std::string_view scheme,
                       std::string_view host_header, std::span<const std::string> allowed);

}  // namespace crab::trust
