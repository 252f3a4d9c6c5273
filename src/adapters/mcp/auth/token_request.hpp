#pragma once

#include "adapters/mcp/auth/fetcher.hpp"
#include "adapters/mcp/auth/oauth_credentials.hpp"
#include "adapters/mcp/auth/server_metadata.hpp"
#include "crypto/private_key.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::mcp {

using FormFields = std::vector<std::pair<std::string, std::string>>;
std::string form_of(const FormFields& fields);

/// Who asks a token endpoint, and where.
struct TokenRequest {
    ServerMetadata server;
    FetchReach reach = FetchReach::kPublic;
    OAuthClient client;
    std::optional<crypto::PrivateKey> key{};  ///< private_key_jwt, in place of a secret
    FormFields form;  ///< grant_type and what goes with it; the client is added
};

/// Asks for tokens (RFC 6749, sections 4 to 6). The answer has no issuer and resource yet. Errors:
/// kAuthRequired when the server refuses, with its error code, and for an answer that makes no
/// sense; those of the fetch.
Task<Result<OAuthTokens>> request_tokens(Fetcher& fetcher, TokenRequest request, SystemTime now);

/// The method by which a client with a secret shows it: as it was registered, else what the server
/// takes, basic before post. Errors: kAuthRequired.
Result<std::string> auth_method_for(const ServerMetadata& server, const OAuthClient& client);

/// An `error` of an OAuth answer if it is a code that may be shown; else "unknown error".
std::string shown_error(std::string_view error);

}  // namespace crab::mcp
