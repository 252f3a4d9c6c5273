#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::mcp {

/// The endpoint of an upstream.
struct UpstreamUrl {
    bool tls = false;
    std::string host;  ///< without brackets
    std::uint16_t port = 0;
    std::string target = "/";  ///< path and query

    /// The Host field: the port is left out where the scheme implies it.
    std::string host_field() const;
    bool same_origin(const UpstreamUrl& other) const {
        return tls == other.tls && host == other.host && port == other.port;
    }
};

/// `http://` or `https://`, a host, perhaps a port, path and query; no credentials; a fragment is
/// cut off. Errors: kInvalidArgs.
Result<UpstreamUrl> parse_upstream_url(std::string_view text);
/// What a reference that stands at `base` means: an absolute URL, one that begins with `//`, `/`,
/// `?`, or a path beside that of `base`. Errors: kInvalidArgs.
Result<UpstreamUrl> resolve_reference(const UpstreamUrl& base, std::string_view reference);

}  // namespace crab::mcp
