#include "adapters/mcp/auth/token_request.hpp"

#include "adapters/mcp/auth/basic_credential.hpp"
#include "adapters/mcp/auth/jwt.hpp"
#include "crypto/random.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

std::unexpected<Error> no_token(std::string why) {
    return fail(ErrorCode::kAuthRequired, std::move(why));
}

/// What may stand behind `Bearer ` in a header.
bool is_bearer_value(std::string_view token) {
    return !token.empty() && std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
}

/// RFC 7523, section 3; the audience is the issuer, so that an assertion is of no use elsewhere.
std::string assertion_of(const TokenRequest& request, SystemTime now) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    return make_jwt(*request.key, {},
                    json::Value::object({{"iss", request.client.id},
                                         {"sub", request.client.id},
                                         {"aud", request.server.issuer},
                                         {"jti", crypto::random_hex(16)},
                                         {"iat", std::int64_t{seconds}},
                                         {"exp", std::int64_t{seconds + 60}}}));
}

Result<void> authenticate(TokenRequest& request, FetchRequest& fetch, SystemTime now) {
    if (request.key) {
        request.form.emplace_back("client_id", request.client.id);
        request.form.emplace_back("client_assertion_type",
                                  "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        request.form.emplace_back("client_assertion", assertion_of(request, now));
        return {};
    }
    const auto method = auth_method_for(request.server, request.client);
    if (!method) return fail(method.error());
    if (*method == "client_secret_basic") {
        fetch.headers.emplace_back("Authorization",
                                   basic_credential(request.client.id, request.client.secret));
        return {};
    }
    request.form.emplace_back("client_id", request.client.id);
    if (*method == "client_secret_post")
        request.form.emplace_back("client_secret", request.client.secret.reveal());
    return {};
}

Result<OAuthTokens> read_tokens(const json::Value& answer, SystemTime now) {
    constexpr std::int64_t kMostSeconds = 400LL * 24 * 3600;
    OAuthTokens tokens;
    const std::string access = answer.text("access_token");
    if (!is_bearer_value(access) || lower_case(answer.text("token_type")) != "bearer")
        return no_token("the authorization server gave no bearer token");
    tokens.access = Secret<std::string>(access);
    tokens.refresh = Secret<std::string>(answer.text("refresh_token"));
    tokens.scope = answer.text("scope");
    const json::Value* const lifetime = answer.find("expires_in");
    const auto seconds = lifetime != nullptr ? lifetime->as_int64() : std::nullopt;
    if (seconds)
        tokens.expires_at =
            now + std::chrono::seconds(std::clamp(*seconds, std::int64_t{0}, kMostSeconds));
    return tokens;
}

}  // namespace

std::string form_of(const FormFields& fields) {
    std::string text;
    for (const auto& [name, value] : fields) {
        if (!text.empty()) text += '&';
        text += net::percent_encode(name) + "=" + net::percent_encode(value);
    }
    return text;
}

std::string shown_error(std::string_view error) {
    constexpr std::size_t kMost = 64;
    const bool good =
        !error.empty() && error.size() <= kMost && std::ranges::all_of(error, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                   c == '.';
        });
    return good ? std::string(error) : "unknown error";
}

Result<std::string> auth_method_for(const ServerMetadata& server, const OAuthClient& client) {
    if (client.secret.reveal().empty()) return "none";
    if (!client.auth_method.empty()) return client.auth_method;
    const auto takes = [&](std::string_view method) {
        return std::ranges::find(server.token_auth_methods, method) !=
               server.token_auth_methods.end();
    };
    // RFC 8414, section 2: basic when nothing is said
    if (server.token_auth_methods.empty() || takes("client_secret_basic"))
        return "client_secret_basic";
    if (takes("client_secret_post")) return "client_secret_post";
    return no_token("the authorization server takes secrets neither by basic nor by post");
}

Task<Result<OAuthTokens>> request_tokens(Fetcher& fetcher, TokenRequest request, SystemTime now) {
    FetchRequest fetch{.url = request.server.token_endpoint, .reach = request.reach};
    if (const auto good = authenticate(request, fetch, now); !good) co_return fail(good.error());
    fetch.content_type = "application/x-www-form-urlencoded";
    fetch.body = form_of(request.form);
    auto reply = co_await fetcher.fetch(std::move(fetch));
    if (!reply) co_return fail(std::move(reply.error()));
    const auto answer = json::Value::parse(reply->body);
    const bool readable = answer && answer->is_object();
    if (reply->ok() && readable) co_return read_tokens(*answer, now);
    if (reply->status >= 500)
        co_return fail(ErrorCode::kUnavailable, "the authorization server is out of order");
    co_return no_token(fmt::format("the authorization server refuses: {}",
                                   shown_error(readable ? answer->text("error") : "")));
}

}  // namespace crab::mcp
