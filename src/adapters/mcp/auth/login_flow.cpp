#include "adapters/mcp/auth/login_flow.hpp"

#include "adapters/mcp/auth/discovery.hpp"
#include "adapters/mcp/auth/token_request.hpp"
#include "adapters/mcp/auth/url_bounds.hpp"
#include "base/base64url.hpp"
#include "crypto/digest.hpp"
#include "crypto/random.hpp"
#include "json/value.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kSecretBytes = 32;  // of state and verifier, which is 64 characters long

std::unexpected<Error> refused(std::string why) {
    return fail(ErrorCode::kAuthRequired, std::move(why));
}

bool lists(const std::vector<std::string>& texts, std::string_view text) {
    return std::ranges::find(texts, text) != texts.end();
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& each : words) text = union_of_scopes(text, each);
    return text;
}

/// The page and the endpoints that get secrets: https, or http on this machine for an upstream
/// there.
bool is_safe(std::string_view text, FetchReach reach) {
    const auto url = net::HttpUrl::parse(text);
    return url && (url->tls || (reach != FetchReach::kPublic && names_loopback(*url)));
}

json::Value registration_of(const LoginOptions& options, std::string_view auth_method) {
    using json::Value;
    return Value::object({{"client_name", options.client_name},
                          {"application_type", "native"},
                          {"redirect_uris", Value::array({options.redirect_uri})},
                          {"grant_types", Value::array({"authorization_code", "refresh_token"})},
                          {"response_types", Value::array({"code"})},
                          {"token_endpoint_auth_method", auth_method}});
}

}  // namespace

std::string code_challenge_of(std::string_view verifier) {
    const crypto::Sha256Digest digest = crypto::sha256(verifier);
    return to_base64url({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Result<void> LoginFlow::check_server() const {
    const FetchReach reach = reach_of(options_.url);
    if (!is_safe(server_.authorization_endpoint, reach) || !is_safe(server_.token_endpoint, reach))
        return refused("the authorization server has no https page and endpoint for logins");
    if (!lists(server_.code_challenge_methods, "S256"))
        return refused("the authorization server does not say that it checks PKCE with S256");
    return {};
}

/// What the upstream asks for, and what was granted and asked for before; else what it lists.
std::string LoginFlow::wanted_scope(const BearerChallenge& challenge) const {
    std::string scope = challenge.scope;
    const auto before = credentials_.find_tokens(options_.key);
    if (before && before->issuer == server_.issuer) {
        if (scope.empty()) scope = before->wanted_scope;
        if (!scope.empty()) scope = union_of_scopes(before->scope, scope);
    }
    if (scope.empty()) scope = joined(resource_.scopes);
    if (server_.has_scope("offline_access")) scope = union_of_scopes(scope, "offline_access");
    return scope;
}

Task<Result<OAuthClient>> LoginFlow::find_client() {
    if (options_.configured) {
        if (options_.configured_issuer != server_.issuer)
            co_return refused(
                "the client in the configuration is registered with another authorization server");
        co_return *options_.configured;
    }
    if (server_.takes_metadata_documents && !options_.metadata_document.empty())
        co_return OAuthClient{
            .id = options_.metadata_document, .secret = {}, .auth_method = "none"};
    auto known = credentials_.find_client(server_.issuer);
    if (known && known->redirect_uri == options_.redirect_uri) co_return std::move(*known);
    co_return co_await register_client();
}

Task<Result<OAuthClient>> LoginFlow::register_client() {
    if (server_.registration_endpoint.empty())
        co_return refused(
            "the authorization server registers no clients; register one there and put it into the "
            "configuration");
    const auto& methods = server_.token_auth_methods;
    std::string method = "client_secret_basic";
    if (!methods.empty() && !lists(methods, method))
        method = lists(methods, "client_secret_post") ? "client_secret_post" : "none";
    FetchRequest request{.url = server_.registration_endpoint, .reach = reach_of(options_.url)};
    request.content_type = "application/json";
    request.body = registration_of(options_, method).dump();
    auto reply = co_await fetcher_.fetch(std::move(request));
    if (!reply) co_return fail(std::move(reply.error()));
    const auto answer = json::Value::parse(reply->body);
    const std::string id = answer ? answer->text("client_id") : std::string();
    if (!reply->ok() || id.empty())
        co_return refused(fmt::format("the authorization server did not register this client: {}",
                                      shown_error(answer ? answer->text("error") : "")));
    OAuthClient client{.id = id,
                       .secret = Secret<std::string>(answer->text("client_secret")),
                       .auth_method = answer->text("token_endpoint_auth_method"),
                       .redirect_uri = options_.redirect_uri};
    if (client.auth_method.empty()) client.auth_method = method;
    credentials_.save_client(server_.issuer, client);
    co_return client;
}

Task<Result<std::string>> LoginFlow::begin(BearerChallenge challenge) {
    auto resource = co_await find_resource(fetcher_, options_.url, challenge.resource_metadata);
    if (!resource) co_return fail(std::move(resource.error()));
    resource_ = std::move(*resource);
    const auto& servers = resource_.authorization_servers;
    std::string issuer = servers.front();
    if (options_.configured && lists(servers, options_.configured_issuer))
        issuer = options_.configured_issuer;
    auto server = co_await find_server(fetcher_, issuer, reach_of(options_.url));
    if (!server) co_return fail(std::move(server.error()));
    server_ = std::move(*server);
    if (const auto good = check_server(); !good) co_return fail(good.error());
    scope_ = wanted_scope(challenge);
    const auto before = credentials_.find_tokens(options_.key);
    if (before && before->issuer == server_.issuer && !before->wanted_scope.empty())
        step_ups_ = before->step_ups + 1;
    if (step_ups_ > kMostStepUps)
        co_return refused("the server asks for more scopes after each login; ask its operator");
    auto client = co_await find_client();
    if (!client) co_return fail(std::move(client.error()));
    client_ = std::move(*client);
    state_ = crypto::random_hex(kSecretBytes);
    verifier_ = crypto::random_hex(kSecretBytes);
    FormFields fields{{"response_type", "code"},
                      {"client_id", client_.id},
                      {"redirect_uri", options_.redirect_uri},
                      {"state", state_},
                      {"code_challenge", code_challenge_of(verifier_)},
                      {"code_challenge_method", "S256"},
                      {"resource", resource_.resource}};
    if (!scope_.empty()) fields.emplace_back("scope", scope_);
    const std::string& page = server_.authorization_endpoint;
    co_return page + (page.contains('?') ? "&" : "?") + form_of(fields);
}

/// Who answers is settled before anything of the answer is used or shown (RFC 9207): else a code
/// for one server could be sent to another.
Result<std::string> LoginFlow::read_code(std::string_view redirected) const {
    const std::size_t question = redirected.find('?');
    std::string_view query =
        question == std::string_view::npos ? redirected : redirected.substr(question + 1);
    query = query.substr(0, query.find('#'));
    const std::string state = net::find_query(query, "state").value_or("");
    if (state_.empty() || !crypto::constant_time_equal(state, state_))
        return refused("this is not the answer to this login; log in again");
    const auto issuer = net::find_query(query, "iss");
    if (issuer ? *issuer != server_.issuer : server_.sends_issuer)
        return refused("the answer came from another authorization server than was asked");
    if (const auto error = net::find_query(query, "error"))
        return refused(fmt::format("the authorization server refuses: {}", shown_error(*error)));
    auto code = net::find_query(query, "code");
    if (!code || code->empty()) return refused("the answer holds no code; log in again");
    return std::move(*code);
}

Task<Result<void>> LoginFlow::finish(std::string redirected) {
    const auto code = read_code(redirected);
    if (!code) co_return fail(code.error());
    state_.clear();  // an answer counts once
    TokenRequest request{.server = server_, .reach = reach_of(options_.url), .client = client_};
    request.form = {{"grant_type", "authorization_code"},
                    {"code", *code},
                    {"redirect_uri", options_.redirect_uri},
                    {"code_verifier", verifier_},
                    {"resource", resource_.resource}};
    auto tokens = co_await request_tokens(fetcher_, std::move(request), clock_.system_now());
    if (!tokens) co_return fail(std::move(tokens.error()));
    tokens->issuer = server_.issuer;
    tokens->resource = resource_.resource;
    tokens->client_id = client_.id;
    tokens->step_ups = step_ups_;
    if (tokens->scope.empty()) tokens->scope = scope_;  // RFC 6749, section 5.1
    // a configured client is needed for the refresh too, under its issuer and no other
    if (options_.configured) credentials_.save_client(server_.issuer, client_);
    credentials_.save_tokens(options_.key, std::move(*tokens));
    co_return Result<void>();
}

}  // namespace crab::mcp
