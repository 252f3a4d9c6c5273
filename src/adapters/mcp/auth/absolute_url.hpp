#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// An `http` or `https` URL without user and fragment, in its parts.
struct AbsoluteUrl {
    bool tls = false;
    std::string host;  ///< lower case, without brackets
    std::uint16_t port = 0;
    std::string path;   ///< empty, or from `/` on
    std::string query;  ///< without `?`

    /// Nothing for anything else, and for characters that no URL has.
    static std::optional<AbsoluteUrl> parse(std::string_view text);

    /// `https://host:port`; the port is left out where the scheme implies it.
    std::string origin() const;
    /// The Host field.
    std::string host_field() const;
    /// What stands in the request line.
    std::string target() const;
    /// Whether the host is `localhost` or a loopback address by its spelling.
    bool names_loopback() const;
    bool same_origin(const AbsoluteUrl& other) const {
        return tls == other.tls && host == other.host && port == other.port;
    }
};

/// Whether `inner` is `outer` or lies below it: the same origin, and its path begins with that of
/// `outer` up to the end or a `/`.
bool is_below(const AbsoluteUrl& outer, const AbsoluteUrl& inner);

}  // namespace crab::mcp
