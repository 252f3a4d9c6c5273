#include "adapters/mcp/auth/oauth_authorizer.hpp"

#include "adapters/mcp/auth/challenge.hpp"
#include "adapters/mcp/auth/discovery.hpp"
#include "adapters/mcp/auth/token_request.hpp"
#include "adapters/mcp/auth/url_bounds.hpp"
#include "base/scope_exit.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using Kind = UpstreamAuth::Kind;

/// The command by which this owner logs in.
std::string login_command(const TokenKey& key) {
    if (key.owner.empty()) return fmt::format("`crab mcp login {}`", key.source);
    return fmt::format("`crab mcp login {} --for {}`", key.source, key.owner);
}

Error login_needed(const TokenKey& key) {
    return {.code = ErrorCode::kAuthRequired,
            .message = fmt::format("{} needs a login: {}", key.source, login_command(key))};
}

/// The upstream refuses a token that was just renewed.
Error still_refused(const TokenKey& key, Kind kind) {
    if (kind == Kind::kUser) return login_needed(key);
    return {.code = ErrorCode::kAuthRequired,
            .message = fmt::format("{} refuses the tokens of this gateway's client credentials; "
                                   "see `auth` in its configuration",
                                   key.source)};
}

/// Of a caller who does not wait any longer.
Error left_waiting(const TokenKey& key, WaitEnd end) {
    const bool late = end == WaitEnd::kExpired;
    return {.code = late ? ErrorCode::kTimeout : ErrorCode::kCancelled,
            .message = fmt::format("{} while the gateway waited for an OAuth token for {}; nothing "
                                   "was run",
                                   late ? "the deadline passed" : "the request was cancelled",
                                   key.source)};
}

constexpr std::string_view kScheme = "Bearer ";

std::string token_of(std::string_view header) {
    return std::string(header.starts_with(kScheme) ? header.substr(kScheme.size()) : "");
}

std::optional<std::string> header_of(const OAuthTokens& tokens) {
    return std::string(kScheme) + tokens.access.reveal();
}

}  // namespace

Task<Result<std::optional<std::string>>> OAuthAuthorizer::authorization(
    const UpstreamOptions& upstream, std::optional<RefusedCredential> refused, Deadline deadline) {
    Asked asked{.key = {.source = upstream.source, .owner = upstream.owner},
                .auth = find_auth_(upstream.source),
                .url = upstream.url,
                .challenge = refused ? refused->challenge : "",
                .refused = refused ? token_of(refused->value) : "",
                .place = nullptr};
    if (asked.auth.kind == Kind::kNone) {
        if (!refused) co_return std::optional<std::string>();
        co_return fail(ErrorCode::kAuthRequired,
                       fmt::format("{} refuses this gateway's credential; see `auth` in its "
                                   "configuration",
                                   upstream.source));
    }
    // the gateway's own, whoever calls
    if (asked.auth.kind == Kind::kClientCredentials) asked.key.owner.clear();
    auto& place = places_[asked.key];
    if (!place) place = std::make_shared<Place>();
    asked.place = place;
    if (refused) place->asked = read_challenge(asked.challenge);
    if (!refused) {
        // who has not logged in is told by the server how, or need not
        if (asked.auth.kind == Kind::kUser && !credentials_.find_tokens(asked.key))
            co_return std::optional<std::string>();
        if (auto tokens = usable(asked)) {
            asked.place->replacement.clear();  // a new request, with its own renewal
            co_return header_of(*tokens);
        }
    }
    co_return co_await answer(std::move(asked), deadline);
}

std::optional<BearerChallenge> OAuthAuthorizer::last_challenge(const TokenKey& key) const {
    const auto place = places_.find(key);
    return place == places_.end() ? std::nullopt : place->second->asked;
}

void OAuthAuthorizer::forget(std::string_view source) {
    std::erase_if(places_, [&](const auto& each) {
        if (each.first.source != source) return false;
        each.second->forgotten = true;
        return true;
    });
}

Task<Result<void>> OAuthAuthorizer::finish(Deadline deadline) {
    stopping_ = true;
    std::vector<std::shared_ptr<Renewal>> logins;
    for (const auto& [key, place] : places_)
        if (place->renewal && place->renewal->of_login) logins.push_back(place->renewal);
    for (const auto& each : logins) (void)co_await wait_for(each, deadline);
    co_return Result<void>();
}

void OAuthAuthorizer::stop(std::function<void()> done) {
    stopping_ = true;
    renewals_.stop(std::move(done));
}

/// The stored tokens, if they are for this upstream and have not ended.
std::optional<OAuthTokens> OAuthAuthorizer::usable(const Asked& asked) const {
    auto tokens = credentials_.find_tokens(asked.key);
    if (!tokens) return std::nullopt;
    // An upstream that moved, or an issuer that was changed, must not get what the old one got.
    const auto resource = net::HttpUrl::parse(tokens->resource);
    const auto url = net::HttpUrl::parse(asked.url);
    if (!resource || !url || !is_below(*resource, *url)) return std::nullopt;
    if (asked.auth.kind == Kind::kClientCredentials &&
        (tokens->issuer != asked.auth.issuer || tokens->client_id != asked.auth.client.id))
        return std::nullopt;
    if (tokens->expires_at && clock_.system_now() + kMargin >= *tokens->expires_at)
        return std::nullopt;
    return tokens;
}

/// The same, unless it is what the upstream has just refused: this request, or another one, for
/// which it is being replaced.
std::optional<OAuthTokens> OAuthAuthorizer::unrefused(const Asked& asked) const {
    auto tokens = usable(asked);
    if (!tokens) return std::nullopt;
    const std::string& token = tokens->access.reveal();
    const Renewal* const running = asked.place->renewal.get();
    if (token == asked.refused || (running != nullptr && token == running->refused))
        return std::nullopt;
    return tokens;
}

Error OAuthAuthorizer::needs_more(const Asked& asked, std::string_view scope) {
    auto tokens = credentials_.find_tokens(asked.key);
    if (tokens && asked.auth.kind == Kind::kUser) {
        tokens->wanted_scope = scope;  // for the next login
        credentials_.save_tokens(asked.key, std::move(*tokens));
        return {.code = ErrorCode::kAuthRequired,
                .message = fmt::format("{} needs more rights for this: {}", asked.key.source,
                                       login_command(asked.key))};
    }
    if (asked.auth.kind == Kind::kUser) return login_needed(asked.key);
    return {.code = ErrorCode::kAuthRequired,
            .message = fmt::format("{} needs more scopes than its configuration asks for",
                                   asked.key.source)};
}

Task<Result<std::optional<std::string>>> OAuthAuthorizer::answer(Asked asked, Deadline deadline) {
    const BearerChallenge challenge = read_challenge(asked.challenge);
    if (challenge.needs_more_scopes()) co_return fail(needs_more(asked, challenge.scope));
    Place& place = *asked.place;
    std::optional<OAuthTokens> tokens = unrefused(asked);
    if (!tokens) {
        if (!asked.refused.empty() && place.replacement == asked.refused) {
            place.replacement.clear();  // the next request may try again
            co_return fail(still_refused(asked.key, asked.auth.kind));
        }
        if (!place.renewal && stopping_)
            co_return fail(ErrorCode::kUnavailable, "the gateway is stopping");
        const std::shared_ptr<Renewal> renewal =
            place.renewal ? place.renewal : begin_renewal(asked);
        const WaitEnd end = co_await wait_for(renewal, deadline);
        if (!renewal->outcome) co_return fail(left_waiting(asked.key, end));
        // who waited for a renewal that failed does not try it again
        if (!*renewal->outcome) co_return fail(renewal->outcome->error());
        tokens = **renewal->outcome;
        if (!asked.refused.empty()) place.replacement = tokens->access.reveal();
    }
    co_return header_of(*tokens);
}

std::shared_ptr<OAuthAuthorizer::Renewal> OAuthAuthorizer::begin_renewal(const Asked& asked) {
    auto renewal = std::make_shared<Renewal>();
    renewal->of_login = asked.auth.kind == Kind::kUser;
    renewal->refused = asked.refused;
    asked.place->renewal = renewal;
    renewals_.spawn("renewal of an OAuth token", run_renewal(asked, renewal));
    return renewal;
}

Task<void> OAuthAuthorizer::run_renewal(Asked asked, std::shared_ptr<Renewal> renewal) {
    // also after an exception, and when stop() ends it: nobody is left waiting
    const ScopeExit ended([&] {
        if (!renewal->outcome)
            renewal->outcome =
                fail(ErrorCode::kUnavailable, "the renewal of an OAuth token was ended");
        if (asked.place->renewal == renewal) asked.place->renewal = nullptr;
        while (!renewal->waiting.empty()) {
            Waiting* const next = renewal->waiting.front();
            renewal->waiting.pop_front();
            next->woken = true;
            next->waiter.wake();  // goes on before this returns
        }
    });
    renewal->outcome = co_await renew(asked);
}

Task<WaitEnd> OAuthAuthorizer::wait_for(std::shared_ptr<Renewal> renewal, Deadline deadline) {
    if (renewal->outcome) co_return WaitEnd::kWoken;
    Waiting waiting{.waiter = Waiter(timers_)};
    const auto place = renewal->waiting.insert(renewal->waiting.end(), &waiting);
    const ScopeExit leave([&] {
        if (!waiting.woken) renewal->waiting.erase(place);
    });
    co_return co_await waiting.waiter.wait(deadline);
}

Task<Result<OAuthTokens>> OAuthAuthorizer::renew(Asked asked) {
    if (asked.auth.kind == Kind::kClientCredentials)
        co_return co_await client_credentials(std::move(asked));
    auto old = credentials_.find_tokens(asked.key);
    if (!old || old->refresh.reveal().empty()) co_return fail(login_needed(asked.key));
    co_return co_await refresh(std::move(asked), std::move(*old));
}

Task<Result<OAuthTokens>> OAuthAuthorizer::refresh(Asked asked, OAuthTokens old) {
    const auto resource = net::HttpUrl::parse(old.resource);
    const auto url = net::HttpUrl::parse(asked.url);
    if (!resource || !url || !is_below(*resource, *url)) co_return fail(login_needed(asked.key));
    auto server = co_await find_server(fetcher_, old.issuer, reach_of(asked.url));
    if (!server) co_return fail(std::move(server.error()));
    auto client = credentials_.find_client(old.issuer);
    // a metadata document is not registered
    if (!client || client->id != old.client_id)
        client = OAuthClient{.id = old.client_id, .secret = {}, .auth_method = "none"};
    TokenRequest request{
        .server = std::move(*server), .reach = reach_of(asked.url), .client = std::move(*client)};
    request.form = {{"grant_type", "refresh_token"},
                    {"refresh_token", old.refresh.reveal()},
                    {"resource", old.resource}};
    auto tokens = co_await request_tokens(fetcher_, std::move(request), clock_.system_now());
    if (!tokens && tokens.error().code == ErrorCode::kAuthRequired) {
        // a refresh token may count once, and another loop may have been first
        auto newer = usable(asked);
        if (newer && newer->access.reveal() != old.access.reveal()) co_return std::move(*newer);
        co_return fail(login_needed(asked.key));
    }
    if (!tokens) co_return fail(std::move(tokens.error()));
    tokens->issuer = old.issuer;
    tokens->resource = old.resource;
    tokens->client_id = old.client_id;
    if (tokens->refresh.reveal().empty()) tokens->refresh = old.refresh;
    if (tokens->scope.empty()) tokens->scope = old.scope;
    co_return keep_refreshed(asked, old, std::move(*tokens));
}

/// Unless whoever owns the login has ended it, or logged in anew, meanwhile.
Result<OAuthTokens> OAuthAuthorizer::keep_refreshed(const Asked& asked, const OAuthTokens& old,
                                                    OAuthTokens tokens) {
    const auto stored = credentials_.find_tokens(asked.key);
    if (asked.place->forgotten || !stored) return fail(login_needed(asked.key));
    if (stored->refresh.reveal() != old.refresh.reveal()) {
        if (auto newer = usable(asked)) return std::move(*newer);
        return fail(login_needed(asked.key));
    }
    tokens.wanted_scope = stored->wanted_scope;
    tokens.step_ups = stored->step_ups;
    credentials_.save_tokens(asked.key, tokens);
    return tokens;
}

Task<Result<OAuthTokens>> OAuthAuthorizer::client_credentials(Asked asked) {
    const FetchReach reach = reach_of(asked.url);
    const std::string named = read_challenge(asked.challenge).resource_metadata;
    auto found = co_await find_resource(fetcher_, asked.url, named);
    std::string resource = asked.url;
    if (found) {
        const auto& servers = found->authorization_servers;
        // the configured secret is for the configured issuer alone
        if (std::ranges::find(servers, asked.auth.issuer) == servers.end())
            co_return fail(ErrorCode::kAuthRequired,
                           fmt::format("{} trusts another authorization server than the one in its "
                                       "configuration",
                                       asked.key.source));
        resource = found->resource;
    } else if (found.error().code != ErrorCode::kNotFound) {
        co_return fail(std::move(found.error()));
    }
    auto server = co_await find_server(fetcher_, asked.auth.issuer, reach);
    if (!server) co_return fail(std::move(server.error()));
    TokenRequest request{.server = std::move(*server),
                         .reach = reach,
                         .client = asked.auth.client,
                         .key = asked.auth.key};
    request.form = {{"grant_type", "client_credentials"}, {"resource", resource}};
    std::string scope;
    for (const std::string& each : asked.auth.scopes) scope = union_of_scopes(scope, each);
    if (scope.empty()) scope = read_challenge(asked.challenge).scope;
    if (!scope.empty()) request.form.emplace_back("scope", scope);
    auto tokens = co_await request_tokens(fetcher_, std::move(request), clock_.system_now());
    if (!tokens) co_return fail(std::move(tokens.error()));
    tokens->issuer = asked.auth.issuer;
    tokens->resource = resource;
    tokens->client_id = asked.auth.client.id;
    if (!asked.place->forgotten) credentials_.save_tokens(asked.key, *tokens);
    co_return tokens;
}

}  // namespace crab::mcp
