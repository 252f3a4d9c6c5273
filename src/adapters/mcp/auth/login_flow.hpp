#pragma once

#include "adapters/mcp/auth/challenge.hpp"
#include "adapters/mcp/auth/fetcher.hpp"
#include "adapters/mcp/auth/oauth_credentials.hpp"
#include "adapters/mcp/auth/server_metadata.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::mcp {

/// A login at one upstream.
struct LoginOptions {
    TokenKey key;
    std::string url;           ///< of the upstream
    std::string redirect_uri;  ///< a loopback URL that the browser is sent back to
    std::string client_name = "crab";
    /// A client that the operator registered, for this issuer and no other.
    std::string configured_issuer{};
    std::optional<OAuthClient> configured{};
    std::string metadata_document{};  ///< URL of a client id metadata document; empty: none
};

/// A person's login at the authorization server of an upstream, by authorization code with PKCE:
/// begin() gives the page to open, finish() takes the URL that the browser was sent back to. It
/// opens and listens to nothing itself. Used once, on one event loop. Source:
/// docs/protocols/mcp.md, 6.4.
class LoginFlow {
public:
    /// Logins for more scopes in a row after the first, after which an upstream that still asks is
    /// refused.
    static constexpr int kMostStepUps = 2;

    /// All outlive it.
    LoginFlow(Fetcher& fetcher, OAuthCredentials& credentials, const Clock& clock,
              LoginOptions options)
        : fetcher_(fetcher),
          credentials_(credentials),
          clock_(clock),
          options_(std::move(options)) {}

    /// The URL to open: to be printed, not run through a shell. `challenge`: of the upstream's 401
    /// or 403, if there was one. Errors: kAuthRequired for a server that cannot be used safely,
    /// kNotFound, kInvalidArgs for metadata that does not fit, those of the fetch.
    Task<Result<std::string>> begin(BearerChallenge challenge);
    /// Ends it with the URL of the browser's redirect, or what a person pasted of it. The tokens
    /// are stored. Errors: kAuthRequired; for an answer of another server nothing of it is shown.
    Task<Result<void>> finish(std::string redirected);

private:
    Result<void> check_server() const;
    Task<Result<OAuthClient>> find_client();
    Task<Result<OAuthClient>> register_client();
    std::string wanted_scope(const BearerChallenge& challenge) const;
    Result<std::string> read_code(std::string_view redirected) const;

    Fetcher& fetcher_;
    OAuthCredentials& credentials_;
    const Clock& clock_;
    const LoginOptions options_;
    ServerMetadata server_;
    ResourceMetadata resource_;
    OAuthClient client_;
    std::string state_, verifier_, scope_;
    int step_ups_ = 0;
};

/// The S256 challenge of a PKCE verifier (RFC 7636, section 4.2).
std::string code_challenge_of(std::string_view verifier);

}  // namespace crab::mcp
