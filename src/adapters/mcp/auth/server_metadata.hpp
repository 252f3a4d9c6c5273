#pragma once

#include "base/result.hpp"
#include "net/codec/http_url.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// What an authorization server says of itself (RFC 8414, OpenID Connect Discovery 1.0).
struct ServerMetadata {
    std::string issuer;
    std::string authorization_endpoint, token_endpoint, registration_endpoint;
    std::string jwks_uri, introspection_endpoint;
    std::vector<std::string> scopes, code_challenge_methods, token_auth_methods;
    bool sends_issuer = false;  ///< authorization_response_iss_parameter_supported (RFC 9207)
    bool takes_metadata_documents = false;  ///< client_id_metadata_document_supported

    bool has_scope(std::string_view scope) const;
};

/// What an MCP server says about who may use it (RFC 9728).
struct ResourceMetadata {
    std::string resource;
    std::vector<std::string> authorization_servers, scopes;
};

/// Where the metadata of `issuer` may be, in the order in which they are asked; none for what is no
/// issuer. Source: docs/protocols/mcp.md, 6.4.
std::vector<std::string> server_metadata_urls(std::string_view issuer);
/// RFC 9728, section 3; the path of the resource follows.
inline constexpr std::string_view kResourceMetadataPath = "/.well-known/oauth-protected-resource";
/// Where the metadata of the server at `url` may be.
std::vector<std::string> resource_metadata_urls(std::string_view url);

/// Errors: kInvalidArgs, also when `issuer` is not byte for byte the one that was asked.
Result<ServerMetadata> read_server_metadata(std::string_view text, std::string_view issuer);
/// Errors: kInvalidArgs, also when `resource` is not the server's URL or a prefix of it at a
/// boundary of its path, and when no authorization server is named.
Result<ResourceMetadata> read_resource_metadata(std::string_view text, std::string_view url);

}  // namespace crab::mcp
