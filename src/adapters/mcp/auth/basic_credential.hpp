#pragma once

#include "base/encoding.hpp"
#include "base/secret.hpp"
#include "crypto/digest.hpp"
#include "net/codec/url.hpp"

#include <string>
#include <string_view>

namespace crab::mcp {

/// The `Authorization` of `client_secret_basic`: name and secret are encoded as in a form first
/// (RFC 6749, section 2.3.1).
inline std::string basic_credential(std::string_view client, const Secret<std::string>& secret) {
    const std::string pair =
        net::percent_encode(client) + ":" + net::percent_encode(secret.reveal());
    return "Basic " + to_base64(bytes_of(pair));
}

}  // namespace crab::mcp
