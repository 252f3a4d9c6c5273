#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "crypto/private_key.hpp"
#include "net/tls/tls_context.hpp"
#include "sdk/gateway_address.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crab::sdk {

/// A device's gateway, for requests outside of its WebSocket.
struct GatewayRoute {
    GatewayAddress address;
    std::shared_ptr<net::TlsContext> tls;
};

/// A device's key and the name that the gateway gave it. Signs challenges to get bearer tokens; no
/// other secret is stored. Source: docs/protocols/clawseed.md, section 9, "Device keys".
class DeviceIdentity {
public:
    DeviceIdentity(std::string key_id, crypto::PrivateKey key)
        : key_id_(std::move(key_id)), key_(std::move(key)) {}
    /// What to_text() wrote; nothing for any other text, such as a bearer token.
    static std::optional<DeviceIdentity> parse(const std::string& text);
    /// For a private file.
    Secret<std::string> to_text() const;

    /// A fresh bearer token; blocks. Errors: kUnauthenticated (the gateway does not know this key
    /// any more), kUnavailable and kTimeout (try again later).
    Result<std::string> fetch_token(const GatewayRoute& route) const;
    const std::string& key_id() const { return key_id_; }

private:
    std::string key_id_;
    crypto::PrivateKey key_;
};

/// What a pairing code was exchanged for: with `offered` key and a gateway that takes keys an
/// identity, else a token.
struct Paired {
    std::string token;
    std::optional<DeviceIdentity> identity;
};
/// Blocks. Errors: kPairingFailed, kRateLimited, and those of the connection.
Result<Paired> pair_with_code(const GatewayRoute& route, const std::string& code,
                              const std::optional<crypto::PrivateKey>& offered);

}  // namespace crab::sdk
