#include "adapters/mcp/auth/resource_server.hpp"

#include "adapters/mcp/auth/basic_credential.hpp"
#include "adapters/mcp/auth/jwt.hpp"
#include "adapters/mcp/auth/server_metadata.hpp"
#include "adapters/mcp/auth/url_bounds.hpp"
#include "base/scope_exit.hpp"
#include "crypto/digest.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::mcp {
namespace {

constexpr std::string_view kEndpoint = "/mcp";

std::unexpected<Error> bad_credential(std::string why) {
    return fail(ErrorCode::kUnauthenticated, std::move(why));
}

/// RFC 9068, section 4: an access token says so; with or without `application/`. Many issuers say
/// nothing (Okta, Cognito) or `JWT` (Keycloak, Auth0, Entra). Their ID tokens do too, but are not
/// for this audience.
bool is_access_token_type(std::string_view typ) {
    constexpr std::string_view kPrefix = "application/";
    if (typ.size() > kPrefix.size() && equals_lower(typ.substr(0, kPrefix.size()), kPrefix))
        typ.remove_prefix(kPrefix.size());
    return typ.empty() || equals_lower(typ, "at+jwt") || equals_lower(typ, "jwt");
}

bool is_scope(std::string_view scope) {
    return !scope.empty() && std::ranges::all_of(scope, [](char c) {
        return c > ' ' && c < 0x7f && c != '"' && c != '\\';
    });
}

std::unexpected<Error> wrong(std::string_view key, std::string_view why) {
    return fail(ErrorCode::kInvalidArgs, fmt::format("mcp.oauth.{}: {}", key, why));
}

bool is_safe_url(const std::optional<net::HttpUrl>& url) {
    return url && (url->tls || names_loopback(*url));
}

std::string metadata_of(const ResourceOptions& options) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("resource").string(options.resource);
    writer.key("authorization_servers").begin_array().string(options.issuer).end_array();
    if (!options.scopes.empty()) {
        writer.key("scopes_supported").begin_array();
        for (const std::string& scope : options.scopes) writer.string(scope);
        writer.end_array();
    }
    writer.key("bearer_methods_supported").begin_array().string("header").end_array();
    writer.end_object();
    return text;
}

/// What crab issues itself, which nobody else is asked about.
bool is_own_token(std::string_view token) {
    constexpr std::size_t kOwn = 64;
    return token.size() == kOwn && std::ranges::all_of(token, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

std::string key_of(std::string_view token) {
    const crypto::Sha256Digest digest = crypto::sha256(token);
    return {digest.begin(), digest.end()};
}

}  // namespace

Result<void> check_resource_options(const ResourceOptions& options) {
    if (!is_safe_url(net::HttpUrl::parse(options.issuer)))
        return wrong("issuer", "an https URL, as the issuer writes it in its tokens");
    const auto resource = net::HttpUrl::parse(options.resource);
    if (!is_safe_url(resource) || !resource->query.empty() ||
        options.resource != resource->origin() + resource->path || resource->path.ends_with('/'))
        return wrong("resource",
                     "the https URL of the endpoint, its host in lower case, without a `/` at its "
                     "end: https://gw.example/mcp");
    if (!options.jwks.empty() && !is_safe_url(net::HttpUrl::parse(options.jwks)))
        return wrong("jwks", "an https URL");
    if (!options.introspection.empty() && !is_safe_url(net::HttpUrl::parse(options.introspection)))
        return wrong("introspection", "an https URL");
    if (!std::ranges::all_of(options.scopes, is_scope))
        return wrong("scopes", "words without blanks, quotes and backslashes");
    // a refresh token is between client and issuer; no server may ask for one
    if (std::ranges::find(options.scopes, "offline_access") != options.scopes.end())
        return wrong("scopes", "offline_access is not a scope of a resource");
    return {};
}

ResourceServer::ResourceServer(Fetcher& fetcher, TimerWheel& timers, const Clock& clock,
                               ResourceOptions options)
    : fetcher_(fetcher),
      clock_(clock),
      options_(std::move(options)),
      rules_{.issuer = options_.issuer,
             .issuer_name = options_.issuer_name,
             .resource = options_.resource,
             .tenant_claim = options_.tenant_claim,
             .roles_claim = options_.roles_claim},
      metadata_(metadata_of(options_)),
      keys_(fetcher, timers, clock, {.issuer = options_.issuer, .jwks = options_.jwks}) {
    const auto issuer = net::HttpUrl::parse(options_.issuer);
    if (rules_.issuer_name.empty() && issuer) rules_.issuer_name = issuer->host_field();
    const auto resource = net::HttpUrl::parse(options_.resource);
    if (!resource) return;
    // Where everything of this listener is below a prefix, a proxy passes on nothing else: then the
    // document is there too, and challenges say where.
    const bool as_here = resource->path == options_.path && options_.path.ends_with(kEndpoint);
    const std::size_t prefix = as_here ? options_.path.size() - kEndpoint.size() : 0;
    metadata_path_ = std::string(kResourceMetadataPath) + resource->path.substr(prefix);
    metadata_url_ = resource->origin() + resource->path.substr(0, prefix) + metadata_path_;
}

bool ResourceServer::covers(std::string_view path) const { return is_below(options_.path, path); }

bool ResourceServer::may_be(std::string_view token) const {
    if (options_.introspection.empty()) return looks_like_jwt(token);
    // b64token of RFC 6750: what else comes is not passed on to anybody
    return !token.empty() && token.size() <= kMostJwt && !is_own_token(token) &&
           std::ranges::all_of(token, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("-._~+/=").contains(c);
           });
}

std::optional<trust::Proven> ResourceServer::find(std::string_view token) {
    const auto it = known_.find(key_of(token));
    if (it == known_.end()) return std::nullopt;
    if (clock_.system_now() < *it->second.good_until) return it->second;
    known_.erase(it);
    return std::nullopt;
}

void ResourceServer::keep(std::string_view token, const trust::Proven& proven) {
    if (known_.size() >= kMostKept) known_.clear();
    known_.insert_or_assign(key_of(token), proven);
}

Task<Result<trust::Proven>> ResourceServer::verify(std::string token) {
    if (auto known = find(token)) co_return std::move(*known);
    const bool introspected = !options_.introspection.empty();
    // two statements, so that no temporary of the choice lives across the wait
    Result<TokenClaims> claims = bad_credential("");
    if (introspected) {
        claims = co_await introspect(token);
    } else {
        claims = co_await check_signed(token);
    }
    if (!claims) co_return fail(std::move(claims.error()));
    if (!claims->has_scopes(options_.scopes)) {
        co_return fail(ErrorCode::kForbidden, fmt::format("the token needs the scopes: {}",
                                                          fmt::join(options_.scopes, " ")));
    }
    const auto kept =
        introspected ? std::chrono::seconds(kKeptIntrospected) : std::chrono::seconds(kKept);
    trust::Proven proven{
        .principal = principal_of(*claims, rules_),
        .good_until = std::min(claims->expires_at + kClockSkew, clock_.system_now() + kept)};
    keep(token, proven);
    co_return proven;
}

Task<Result<TokenClaims>> ResourceServer::check_signed(const std::string& token) {
    const auto jwt = parse_jwt(token);
    if (!jwt) co_return bad_credential(jwt.error().message);
    if (!is_access_token_type(jwt->typ)) co_return bad_credential("the token is no access token");
    // before anything is fetched for it; what holds is checked again below, with the signature
    auto claims = check_claims(jwt->claims, rules_, clock_.system_now());
    if (!claims) co_return claims;
    const auto key = co_await keys_.find(jwt->kid, jwt->algorithm);
    if (!key) co_return fail(key.error());
    if (!key->key.verify(jwt->algorithm, jwt->signed_text, jwt->signature))
        co_return bad_credential("the token's signature is not good");
    co_return check_claims(jwt->claims, rules_, clock_.system_now());
}

Task<Result<TokenClaims>> ResourceServer::introspect(const std::string& token) {
    if (questions_ >= kMostQuestions)
        co_return fail(ErrorCode::kUnavailable, "too many tokens are being checked; come again");
    ++questions_;
    const ScopeExit asked([&] { --questions_; });
    FetchRequest request{.url = options_.introspection, .reach = FetchReach::kConfigured};
    if (!options_.introspection_client.empty()) {
        request.headers.emplace_back(
            "Authorization",
            basic_credential(options_.introspection_client, options_.introspection_secret));
    }
    request.content_type = "application/x-www-form-urlencoded";
    request.body = "token=" + net::percent_encode(token) + "&token_type_hint=access_token";
    auto reply = co_await fetcher_.fetch(std::move(request));
    if (!reply) co_return fail(ErrorCode::kUnavailable, "the issuer could not be asked");
    const auto answer = json::Value::parse(reply->body);
    if (!reply->ok() || !answer || !answer->is_object())
        co_return fail(ErrorCode::kUnavailable, "the issuer did not say whether the token is good");
    co_return check_introspection(*answer, rules_, clock_.system_now());
}

std::string ResourceServer::challenge(const Error* why) const {
    std::string text = "Bearer realm=\"crab\"";
    if (why != nullptr && why->code == ErrorCode::kForbidden) {
        text += ", error=\"insufficient_scope\"";
    } else if (why != nullptr) {
        text += ", error=\"invalid_token\"";
    }
    text += fmt::format(", resource_metadata=\"{}\"", metadata_url_);
    if (!options_.scopes.empty())
        text += fmt::format(", scope=\"{}\"", fmt::join(options_.scopes, " "));
    return text;
}

void ResourceServer::add_routes(net::Routes<core::PrincipalRef>& routes) const {
    using Request = net::Routes<core::PrincipalRef>::Request;
    const auto answer = [this](const Request& request) {
        // public, and pages of any origin that act as clients need it
        request.exchange.respond(200, "application/json", metadata_,
                                 {{"Access-Control-Allow-Origin", "*"}});
    };
    const auto add = [&](std::string_view path) {
        routes.add({.path = path,
                    .who = net::Caller::kAnyone,
                    .summary = "Where clients of the MCP endpoint get an access token (RFC 9728)",
                    .head = true,
                    .answers = {{200, "oauth_protected_resource"}}},
                   answer);
    };
    add(kResourceMetadataPath);
    if (metadata_path_ != kResourceMetadataPath) add(metadata_path_);
}

}  // namespace crab::mcp
