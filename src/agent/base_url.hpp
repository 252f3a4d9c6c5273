#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::agent {

/// The base address of a model's API: `https://api.example.com/v1`.
struct BaseUrl {
    bool tls = false;
    std::string host;          ///< without brackets
    std::uint16_t port = 0;
    std::string path;          ///< empty, or `/` and more, without a `/` at the end

    /// The Host field: the port is left out where the scheme implies it.
    std::string host_field() const;
};

/// `http://` or `https://`, a host, perhaps a port and a path; no query, fragment or credentials.
/// Errors: kInvalidArgs.
Result<BaseUrl> parse_base_url(std::string_view text);

}  // namespace crab::agent
