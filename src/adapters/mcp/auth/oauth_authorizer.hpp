#pragma once

#include "adapters/mcp/auth/challenge.hpp"
#include "adapters/mcp/auth/fetcher.hpp"
#include "adapters/mcp/auth/oauth_credentials.hpp"
#include "adapters/mcp/auth/server_metadata.hpp"
#include "adapters/mcp/client/upstream_connector.hpp"
#include "base/task/task_group.hpp"
#include "base/task/waiter.hpp"
#include "crypto/private_key.hpp"

#include <cstdint>
#include <functional>
#include <list>
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
/// owner, and no other gets them. A token is obtained by a task of its own, which goes on when
/// those who wait for it leave: the answer may hold a refresh token that replaces the one before.
/// On one event loop; several may share the credentials. Source: docs/protocols/mcp.md, 6.3.
class OAuthAuthorizer final : public Authorizer {
public:
    using FindAuth = std::function<UpstreamAuth(const std::string& source)>;
    /// A token is renewed so long before it ends.
    static constexpr std::chrono::seconds kMargin{30};

    /// All outlive it. `home` and `timers` are of its event loop.
    OAuthAuthorizer(Fetcher& fetcher, OAuthCredentials& credentials, const Executor& home,
                    TimerWheel& timers, const Clock& clock, FindAuth find_auth)
        : fetcher_(fetcher),
          credentials_(credentials),
          timers_(timers),
          clock_(clock),
          find_auth_(std::move(find_auth)),
          renewals_(home) {}

    Task<Result<std::optional<std::string>>> authorization(const UpstreamOptions& upstream,
                                                           std::optional<RefusedCredential> refused,
                                                           Deadline deadline) override;
    /// Begins no renewal any more, and waits for those of logins until `deadline`.
    Task<Result<void>> finish(Deadline deadline);
    /// Ends all renewals, then calls `done`. Needed before the destructor.
    void stop(std::function<void()> done);

    /// What the upstream asked this owner for last, for a login; nothing: it has not asked.
    std::optional<BearerChallenge> last_challenge(const TokenKey& key) const;
    /// Nothing of an upstream that is gone is for another one of its name, nor what a renewal for
    /// it will get.
    void forget(std::string_view source);

private:
    struct Waiting {
        Waiter waiter;
        bool woken = false;
    };
    struct Renewal {
        std::optional<Result<OAuthTokens>> outcome;
        std::list<Waiting*> waiting;
        std::string refused;  ///< the token that it replaces, if that was why
        bool of_login = false;  ///< which is lost without the answer
    };
    /// Of one upstream and owner.
    struct Place {
        std::shared_ptr<Renewal> renewal;  ///< that runs
        bool forgotten = false;
        std::optional<BearerChallenge> asked;  ///< the last one
        /// The token that replaced a refused one, until a new request begins with it: refused as
        /// well, another one would be, too
        std::string replacement;
    };
    /// One request for a header.
    struct Asked {
        TokenKey key;
        UpstreamAuth auth;
        std::string url, challenge;
        std::string refused;  ///< the token that the challenge was for, or empty
        std::shared_ptr<Place> place;
    };
    using Answer = Result<std::optional<std::string>>;

    Task<Answer> answer(Asked asked, Deadline deadline);
    std::shared_ptr<Renewal> begin_renewal(const Asked& asked);
    Task<void> run_renewal(Asked asked, std::shared_ptr<Renewal> renewal);
    Task<WaitEnd> wait_for(std::shared_ptr<Renewal> renewal, Deadline deadline);
    std::optional<OAuthTokens> usable(const Asked& asked) const;
    std::optional<OAuthTokens> unrefused(const Asked& asked) const;
    Task<Result<OAuthTokens>> renew(Asked asked);
    Task<Result<OAuthTokens>> refresh(Asked asked, OAuthTokens old);
    Result<OAuthTokens> keep_refreshed(const Asked& asked, const OAuthTokens& old,
                                       OAuthTokens tokens);
    Task<Result<OAuthTokens>> client_credentials(Asked asked);
    Error needs_more(const Asked& asked, std::string_view scope);

    Fetcher& fetcher_;
    OAuthCredentials& credentials_;
    TimerWheel& timers_;
    const Clock& clock_;
    const FindAuth find_auth_;
    std::map<TokenKey, std::shared_ptr<Place>> places_;
    bool stopping_ = false;
    TaskGroup renewals_;
};

}  // namespace crab::mcp
