#pragma once

#include "base/result.hpp"
#include "crypto/jws.hpp"
#include "json/value.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// A public key that an issuer publishes.
struct Jwk {
    std::string kid;  ///< may be empty
    std::optional<crypto::JwsAlgorithm> algorithm;  ///< the only one it is for, if it says so
    crypto::JwsKey key;
};

/// Reads one JSON Web Key (RFC 7517): RSA, EC on P-256, P-384 and P-521, OKP with Ed25519. Errors:
/// kInvalidArgs for other kinds, and for a key that is not for signatures.
Result<Jwk> read_jwk(const json::Value& key);

/// The keys of an issuer.
class JwkSet {
public:
    static constexpr std::size_t kMost = 100;

    /// Keys of kinds that are not used here are left out, as RFC 7517, section 5 asks; private
    /// parts are not read. Errors: kInvalidArgs for what is no key set; kOversize above kMost keys.
    static Result<JwkSet> parse(std::string_view text);

    std::size_t size() const { return keys_.size(); }
    bool has(std::string_view kid) const;
    /// The key for a token with that `kid` (empty: it has none, and then only one key may fit) and
    /// algorithm; null when none or several fit.
    const Jwk* find(std::string_view kid, crypto::JwsAlgorithm algorithm) const;

private:
    std::vector<Jwk> keys_;
};

}  // namespace crab::mcp
