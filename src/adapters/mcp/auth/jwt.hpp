#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/jws.hpp"
#include "crypto/private_key.hpp"
#include "json/value.hpp"

#include <string>
#include <string_view>

namespace crab::mcp {

/// A JSON Web Token in its signed compact form (RFC 7519), read and not verified.
struct Jwt {
    crypto::JwsAlgorithm algorithm;
    std::string kid;  ///< may be empty
    std::string typ;  ///< may be empty
    json::Value claims;  ///< an object
    std::string signed_text;
    std::string signature;
};

constexpr std::size_t kMostJwt = std::size_t{16} << 10;

/// Whether a bearer token has the three parts of one.
bool looks_like_jwt(std::string_view token);
/// Reads one. Errors: kInvalidArgs for what is no token, for `none` and algorithms with a shared
/// secret, and for headers that change what is signed (`crit`, `b64`).
Result<Jwt> parse_jwt(std::string_view token);
/// A signed token. `key` is P-256 or RSA; `kid` empty: none.
std::string make_jwt(const crypto::PrivateKey& key, std::string_view kid,
                     const json::Value& claims);

}  // namespace crab::mcp
