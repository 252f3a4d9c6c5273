#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/ed25519.hpp"
#include "crypto/x25519.hpp"

#include <string>
#include <string_view>

namespace crab::trust {

/// `gateway_identity.json`, in the original's form: `gateway_id` and `private_key_ed25519`, base64
/// of seed and public key. Source: docs/protocols/rtp.md, sections 6 and 12.
struct GatewayIdentity {
    std::string gateway_id;
    crypto::Ed25519Key key;

    /// Errors: kInvalidArgs, naming the member; also when the public key is not that of the seed.
    static Result<GatewayIdentity> parse(const Secret<std::string>& text);
    Secret<std::string> to_text() const;
};

/// `remote_identity.json`, ours alone: `private_key_ed25519` as above, `private_key_x25519`.
struct RemoteIdentity {
    crypto::Ed25519Key key;
    crypto::X25519Key agreement_key;

    /// Errors: kInvalidArgs, naming the member.
    static Result<RemoteIdentity> parse(const Secret<std::string>& text);
    Secret<std::string> to_text() const;
};

}  // namespace crab::trust
