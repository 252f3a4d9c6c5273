#include "adapters/mcp/auth/server_metadata.hpp"

#include "adapters/mcp/auth/url_bounds.hpp"
#include "json/value.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostItems = 256;

bool flag_of(const json::Value& object, std::string_view name) {
    const json::Value* const member = object.find(name);
    const bool* const flag = member != nullptr ? member->as_bool() : nullptr;
    return flag != nullptr && *flag;
}

std::vector<std::string> texts_of(const json::Value& object, std::string_view name) {
    std::vector<std::string> texts;
    const json::Value* const member = object.find(name);
    const auto* const list = member != nullptr ? member->as_array() : nullptr;
    if (list == nullptr) return texts;
    for (const json::Value& each : *list) {
        if (each.as_string() != nullptr && texts.size() < kMostItems)
            texts.push_back(*each.as_string());
    }
    return texts;
}

std::unexpected<Error> bad_metadata(const char* why) { return fail(ErrorCode::kInvalidArgs, why); }

std::optional<json::Value> json_object(std::string_view text) {
    auto value = json::Value::parse(text);
    if (!value || !value->is_object()) return std::nullopt;
    return std::move(*value);
}

/// The path without the `/` that may end it.
std::string_view plain_path(const net::HttpUrl& url) {
    std::string_view path = url.path;
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
}

}  // namespace

bool ServerMetadata::has_scope(std::string_view scope) const {
    return std::ranges::find(scopes, scope) != scopes.end();
}

std::vector<std::string> server_metadata_urls(std::string_view issuer) {
    const auto url = net::HttpUrl::parse(issuer);
    if (!url || !url->query.empty()) return {};
    const std::string origin = url->origin();
    const std::string path(plain_path(*url));
    std::vector<std::string> urls{origin + "/.well-known/oauth-authorization-server" + path,
                                  origin + "/.well-known/openid-configuration" + path};
    if (!path.empty()) urls.push_back(origin + path + "/.well-known/openid-configuration");
    return urls;
}

std::vector<std::string> resource_metadata_urls(std::string_view server) {
    const auto url = net::HttpUrl::parse(server);
    if (!url) return {};
    const std::string root = url->origin() + std::string(kResourceMetadataPath);
    const std::string path(plain_path(*url));
    if (path.empty()) return {root};
    return {root + path, root};
}

Result<ServerMetadata> read_server_metadata(std::string_view text, std::string_view issuer) {
    const auto object = json_object(text);
    if (!object) return bad_metadata("the authorization server's metadata is no JSON object");
    ServerMetadata read{
        .issuer = object->text("issuer"),
        .authorization_endpoint = object->text("authorization_endpoint"),
        .token_endpoint = object->text("token_endpoint"),
        .registration_endpoint = object->text("registration_endpoint"),
        .jwks_uri = object->text("jwks_uri"),
        .introspection_endpoint = object->text("introspection_endpoint"),
        .scopes = texts_of(*object, "scopes_supported"),
        .code_challenge_methods = texts_of(*object, "code_challenge_methods_supported"),
        .token_auth_methods = texts_of(*object, "token_endpoint_auth_methods_supported"),
        .sends_issuer = flag_of(*object, "authorization_response_iss_parameter_supported"),
        .takes_metadata_documents = flag_of(*object, "client_id_metadata_document_supported")};
    // Without any normalizing: two issuers that only look alike are two.
    if (read.issuer != issuer)
        return bad_metadata("the authorization server's metadata is of another issuer");
    return read;
}

Result<ResourceMetadata> read_resource_metadata(std::string_view text, std::string_view server) {
    const auto object = json_object(text);
    if (!object) return bad_metadata("the server's metadata is no JSON object");
    ResourceMetadata read{.resource = object->text("resource"),
                          .authorization_servers = texts_of(*object, "authorization_servers"),
                          .scopes = texts_of(*object, "scopes_supported")};
    const auto asked = net::HttpUrl::parse(server);
    const auto resource = net::HttpUrl::parse(read.resource);
    if (!asked || !resource || !is_below(*resource, *asked))
        return bad_metadata("the server's metadata is of another resource");
    if (read.authorization_servers.empty())
        return bad_metadata("the server's metadata names no authorization server");
    return read;
}

}  // namespace crab::mcp
