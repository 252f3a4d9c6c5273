#pragma once

#include "adapters/mcp/auth/async_lock.hpp"
#include "adapters/mcp/auth/challenge.hpp"
#include "adapters/mcp/auth/fetcher.hpp"
#include "adapters/mcp/auth/oauth_credentials.hpp"
#include "adapters/mcp/auth/server_metadata.hpp"
#include "adapters/mcp/client/upstream_connector.hpp"
#include "crypto/private_key.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crab::mcp {

/// How the gateway shows itself to one upstream: `auth:` of its configuration.
struct UpstreamAuth {
    /// kNone also for fixed headers, which the connector sends by itself.
    enum class Kind : std::uint8_t { kNone, kClientCredentials, kUser };
    Kind kind = Kind::kNone;
    std::string issuer;  ///< of client credentials
    OAuthClient client;
    std::optional<crypto::PrivateKey> key;  ///< private_key_jwt
    std::vector<std::string> scopes;
};

/// Tokens for upstreams. Those of client credentials belong to the gateway, those of a login to one
/// owner, and no other gets them. On one event loop; several may share the credentials. Source:
/// docs/protocols/mcp.md, 6.3.
class OAuthAuthorizer final : public Authorizer {
public:
    using FindAuth = std::function<UpstreamAuth(const std::string& source)>;
    /// A token is renewed so long before it ends.
    static constexpr std::chrono::seconds kMargin{30};

    /// All outlive it.
    OAuthAuthorizer(Fetcher& fetcher, OAuthCredentials& credentials, TimerWheel& timers,
                    const Clock& clock, FindAuth find_auth)
        : fetcher_(fetcher),
          credentials_(credentials),
          timers_(timers),
          clock_(clock),
          find_auth_(std::move(find_auth)) {}

    Task<Result<std::optional<std::string>>> authorization(const UpstreamOptions& upstream,
                                                           std::string_view challenge) override;

    /// What the upstream asked this owner for last, for a login; nothing: it has not asked.
    std::optional<BearerChallenge> last_challenge(const TokenKey& key) const;
    /// Nothing of an upstream that is gone is for another one of its name.
    void forget(std::string_view source) {
        std::erase_if(places_, [&](const auto& each) { return each.first.source == source; });
    }

private:
    /// Of one upstream and owner.
    struct Place {
        explicit Place(TimerWheel& timers) : renewing(timers) {}
        AsyncLock renewing;
        std::string given;  ///< the token that was given last
        std::optional<BearerChallenge> asked;  ///< the last one
        bool renewed_for_nothing = false;  ///< that one was new, and is refused
        std::uint64_t failures = 0;  ///< renewals that failed
        Error last_failure;
    };
    /// One request for a header.
    struct Asked {
        TokenKey key;
        UpstreamAuth auth;
        std::string url, challenge;
        std::shared_ptr<Place> place;
    };
    using Answer = Result<std::optional<std::string>>;

    Task<Answer> answer(Asked asked);
    std::optional<OAuthTokens> usable(const Asked& asked) const;
    Task<Result<OAuthTokens>> renew(Asked asked);
    Task<Result<OAuthTokens>> refresh(Asked asked, OAuthTokens old);
    Task<Result<OAuthTokens>> client_credentials(Asked asked);
    Error needs_more(const Asked& asked, std::string_view scope);

    Fetcher& fetcher_;
    OAuthCredentials& credentials_;
    TimerWheel& timers_;
    const Clock& clock_;
    const FindAuth find_auth_;
    std::map<TokenKey, std::shared_ptr<Place>> places_;
};

}  // namespace crab::mcp
