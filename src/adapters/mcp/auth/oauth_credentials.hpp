#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "base/result.hpp"
#include "base/secret.hpp"

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// How this gateway is known to an authorization server.
struct OAuthClient {
    std::string id;
    Secret<std::string> secret;  ///< empty: a public client
    std::string auth_method;  ///< as it was registered; empty: what the server's metadata says
    std::string redirect_uri{};  ///< that was registered; another one needs another registration
};

/// What an authorization server granted for one upstream.
struct OAuthTokens {
    std::string issuer;
    std::string resource;  ///< that they are for
    std::string client_id;
    Secret<std::string> access, refresh;  ///< `refresh` may be empty
    std::optional<SystemTime> expires_at{};  ///< of `access`; nothing: it is tried
    std::string scope{};  ///< granted
    std::string wanted_scope{};  ///< that the upstream asked for since; the next login asks for it
    int step_ups = 0;  ///< logins for more scopes in a row
};

/// Whose tokens: of an upstream, and of what owns them there (empty: the gateway).
struct TokenKey {
    std::string source, owner;
    auto operator<=>(const TokenKey&) const = default;
};

/// Keeps what authorization servers gave: registrations by issuer, byte for byte, so that no
/// issuer ever gets what another one gave, and tokens by upstream and owner. Thread-safe, and never
/// waits for a disk.
class OAuthCredentials {
public:
    virtual ~OAuthCredentials() = default;
    virtual std::optional<OAuthClient> find_client(std::string_view issuer) const = 0;
    virtual void save_client(std::string_view issuer, OAuthClient client) = 0;
    virtual std::optional<OAuthTokens> find_tokens(const TokenKey& key) const = 0;
    virtual void save_tokens(const TokenKey& key, OAuthTokens tokens) = 0;
    virtual void forget_tokens(const TokenKey& key) = 0;
    /// Whether anybody has tokens of this upstream.
    virtual bool has_tokens(std::string_view source) const = 0;
    /// All tokens of this upstream.
    virtual void forget_source(std::string_view source) = 0;
};

/// In memory alone: for client credentials, whose tokens are asked for anew, and for tests.
class OAuthCredentialsMemory : public OAuthCredentials {
public:
    std::optional<OAuthClient> find_client(std::string_view issuer) const override;
    void save_client(std::string_view issuer, OAuthClient client) override;
    std::optional<OAuthTokens> find_tokens(const TokenKey& key) const override;
    void save_tokens(const TokenKey& key, OAuthTokens tokens) override;
    void forget_tokens(const TokenKey& key) override;
    bool has_tokens(std::string_view source) const override;
    void forget_source(std::string_view source) override;

protected:
    /// After each change, under the lock of *this.
    virtual void on_change() {}

    mutable OrderedMutex<LockRank::kOAuthCredentials> mutex_;
    std::map<std::string, OAuthClient, std::less<>> clients_;  ///< by issuer
    std::map<TokenKey, OAuthTokens> tokens_;
};

}  // namespace crab::mcp
