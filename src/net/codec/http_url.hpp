#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::net {

/// An `http` or `https` URL without user and fragment, in its parts.
struct HttpUrl {
    bool tls = false;
    std::string host;  ///< lower case, without brackets
    std::uint16_t port = 0;
    std::string path;   ///< empty, or from `/` on
    std::string query;  ///< without `?`

    /// Nothing for anything else, for more than 4096 bytes, and for characters that no URL has.
    static std::optional<HttpUrl> parse(std::string_view text);

    /// `https://host:port`; the port is left out where the scheme implies it.
    std::string origin() const;
    /// The Host field.
    std::string host_field() const;
    /// What stands in the request line: path and query.
    std::string target() const;
    bool same_origin(const HttpUrl& other) const {
        return tls == other.tls && host == other.host && port == other.port;
    }
};

}  // namespace crab::net
