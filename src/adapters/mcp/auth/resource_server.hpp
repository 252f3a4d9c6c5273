#pragma once

#include "adapters/mcp/auth/key_cache.hpp"
#include "adapters/mcp/auth/token_claims.hpp"
#include "base/secret.hpp"
#include "net/http/routes.hpp"
#include "trust/access_tokens.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// `mcp.oauth`: the gateway as a resource server.
struct ResourceOptions {
    std::string issuer;
    std::string issuer_name;    ///< in principals; empty: the issuer's host
    std::string resource;       ///< the canonical URI of the MCP endpoint
    std::string path = "/mcp";  ///< of the endpoint on the listener, which a proxy may have changed
    std::string jwks;  ///< URL; empty: of the issuer's metadata
    std::string introspection;  ///< URL; empty: tokens are checked by their signature
    std::string introspection_client;  ///< that asks there, by basic; may be empty
    Secret<std::string> introspection_secret;
    std::vector<std::string> scopes;  ///< that every request needs
    std::string tenant_claim, roles_claim;
};

/// Errors: kInvalidArgs that names the key which is wrong and says how to write it.
Result<void> check_resource_options(const ResourceOptions& options);

/// Checks access tokens of one issuer for the MCP endpoint, and tells clients where to get one. On
/// one event loop. Source: docs/protocols/mcp.md, 6.1 and 6.2.
class ResourceServer final : public trust::AccessTokens {
public:
    /// A good token is not checked again for so long, unless it expires before.
    static constexpr std::chrono::minutes kKept{10};
    /// The same with introspection, which is asked so that a revoked token ends soon.
    static constexpr std::chrono::seconds kKeptIntrospected{60};
    static constexpr std::size_t kMostKept = 1024;
    /// Questions to the introspection endpoint at once; who comes then is told to come again.
    static constexpr std::size_t kMostQuestions = 16;

    /// `options` have passed their check. All others outlive it.
    ResourceServer(Fetcher& fetcher, TimerWheel& timers, const Clock& clock,
                   ResourceOptions options);

    bool covers(std::string_view path) const override;
    bool may_be(std::string_view token) const override;
    std::optional<trust::Proven> find(std::string_view token) override;
    Task<Result<trust::Proven>> verify(std::string token) override;
    std::string challenge(const Error* why) const override;

    /// The metadata document of the endpoint.
    const std::string& metadata() const { return metadata_; }
    /// Serves it at `/.well-known/oauth-protected-resource`, with and without the path of the
    /// resource. *this outlives the table.
    void add_routes(net::Routes<core::PrincipalRef>& routes) const;

private:
    Task<Result<TokenClaims>> check_signed(const std::string& token);
    Task<Result<TokenClaims>> introspect(const std::string& token);
    void keep(std::string_view token, const trust::Proven& proven);

    Fetcher& fetcher_;
    const Clock& clock_;
    const ResourceOptions options_;
    ClaimRules rules_;
    std::string metadata_, metadata_path_, metadata_url_;
    KeyCache keys_;
    std::size_t questions_ = 0;
    std::map<std::string, trust::Proven, std::less<>> known_;  ///< by SHA-256 of the token
};

}  // namespace crab::mcp
