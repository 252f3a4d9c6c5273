#include "adapters/mcp/auth/jwk_set.hpp"
#include "adapters/mcp/auth/login_flow.hpp"
#include "adapters/mcp/auth/oauth_authorizer.hpp"
#include "adapters/mcp/auth/test_fetcher.hpp"
#include "adapters/mcp/auth/token_request.hpp"
#include "base/task/test_loop.hpp"
#include "net/codec/url.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;
using json::Value;

constexpr const char* kServer = "https://server.example/mcp";
constexpr const char* kIssuer = "https://login.example/realm";
constexpr const char* kMetadata =
    "https://login.example/.well-known/oauth-authorization-server/realm";
constexpr const char* kTokenUrl = "https://login.example/token";
constexpr const char* kRegisterUrl = "https://login.example/register";
constexpr const char* kRedirect = "http://127.0.0.1:4711/callback";

/// An upstream and its authorization server, which do everything right until a test changes it.
class OAuthWorld : public ::testing::Test {
protected:
    OAuthWorld() {
        servers_.serve("https://server.example/.well-known/oauth-protected-resource/mcp",
                       Value::object({{"resource", kServer},
                                      {"authorization_servers", Value::array({kIssuer})},
                                      {"scopes_supported", Value::array({"read", "write"})}}));
        publish(metadata());
        servers_.serve(kRegisterUrl, R"({"client_id":"registered"})", 201);
        servers_.serve(kTokenUrl, [this](const FetchRequest& request) { return grant(request); });
    }
    static Value metadata() {
        return Value::object({{"issuer", kIssuer},
                              {"authorization_endpoint", "https://login.example/authorize"},
                              {"token_endpoint", kTokenUrl},
                              {"registration_endpoint", kRegisterUrl},
                              {"code_challenge_methods_supported", Value::array({"S256"})},
                              {"token_endpoint_auth_methods_supported", Value::array({"none"})}});
    }
    static Value metadata(std::string_view name, Value value) {
        Value made = metadata();
        made.set(name, std::move(value));
        return made;
    }
    void publish(const Value& metadata) { servers_.serve(kMetadata, metadata); }
    /// Tokens `a1`, `a2`, …, each for five minutes.
    Result<FetchReply> grant(const FetchRequest& request) {
        forms_.push_back(request.body);
        if (refuses_) return FetchReply{.status = 400, .body = R"({"error":"invalid_grant"})"};
        const std::string number = std::to_string(++granted_);
        return FetchReply{.status = 200,
                          .body = Value::object({{"access_token", "a" + number},
                                                 {"token_type", "Bearer"},
                                                 {"expires_in", 300},
                                                 {"refresh_token", "r" + number}})
                                      .dump()};
    }
    static std::string field(std::string_view form, std::string_view name) {
        return net::find_query(form, name).value_or("(none)");
    }

    TestLoop loop_;
    test::TestFetcher servers_;
    OAuthCredentialsMemory credentials_;
    std::vector<std::string> forms_;  ///< of the token endpoint
    int granted_ = 0;
    bool refuses_ = false;
};

class McpLoginFlow : public OAuthWorld {
protected:
    void open(LoginOptions options = {}) {
        options.key = {.source = "files", .owner = "caller/ann"};
        options.url = kServer;
        options.redirect_uri = kRedirect;
        flow_.emplace(servers_, credentials_, loop_.clock, std::move(options));
    }
    Result<std::string> begin(BearerChallenge challenge = {}) {
        if (!flow_) open();
        auto page = loop_.run(flow_->begin(std::move(challenge)));
        if (page) query_ = page->substr(page->find('?') + 1);
        return page;
    }
    std::string asked(std::string_view name) const { return field(query_, name); }
    /// The browser comes back with the state and `rest`.
    Result<void> finish(const std::string& rest) {
        return loop_.run(flow_->finish(std::string(kRedirect) + "?state=" + asked("state") + rest));
    }
    std::string log_in(BearerChallenge challenge = {}) {
        open();
        const auto page = begin(std::move(challenge));
        const auto done = page ? finish("&code=c") : fail(page.error());
        return done ? "" : done.error().message;
    }
    std::optional<OAuthTokens> stored() const {
        return credentials_.find_tokens({.source = "files", .owner = "caller/ann"});
    }
    std::string query_;
    std::optional<LoginFlow> flow_;
};

TEST_F(McpLoginFlow, ALoginGivesTokensForTheOwnerAndTheResource) {
    const auto page = begin();
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_TRUE(page->starts_with("https://login.example/authorize?")) << *page;
    EXPECT_EQ(asked("response_type"), "code");
    EXPECT_EQ(asked("client_id"), "registered");
    EXPECT_EQ(asked("redirect_uri"), kRedirect);
    EXPECT_EQ(asked("resource"), kServer);
    EXPECT_EQ(asked("scope"), "read write");
    EXPECT_EQ(asked("code_challenge_method"), "S256");
    ASSERT_TRUE(finish("&code=the%2Bcode"));
    ASSERT_EQ(forms_.size(), 1U);
    EXPECT_EQ(field(forms_[0], "grant_type"), "authorization_code");
    EXPECT_EQ(field(forms_[0], "code"), "the+code");
    EXPECT_EQ(field(forms_[0], "resource"), kServer);
    EXPECT_EQ(field(forms_[0], "client_id"), "registered");
    EXPECT_EQ(field(forms_[0], "redirect_uri"), kRedirect);
    EXPECT_EQ(code_challenge_of(field(forms_[0], "code_verifier")), asked("code_challenge"));
    ASSERT_TRUE(stored());
    EXPECT_EQ(stored()->access.reveal(), "a1");
    EXPECT_EQ(stored()->issuer, kIssuer);
    EXPECT_FALSE(credentials_.find_tokens({.source = "files", .owner = "caller/bob"}));
    EXPECT_FALSE(finish("&code=c")) << "an answer counts once";
}

TEST_F(McpLoginFlow, TheChallengeIsThatOfRfc7636) {
    EXPECT_EQ(code_challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
              "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

// Row 113.
TEST_F(McpLoginFlow, MetadataOfAnotherIssuerOrResourceIsRefused) {
    for (const char* issuer : {"https://login.example/realm/", "https://login.example",
                               "https://LOGIN.example/realm", "https://evil.example"}) {
        publish(metadata("issuer", issuer));
        EXPECT_FALSE(begin()) << issuer;
    }
    publish(metadata());
    for (const char* resource : {"https://server.example/other", "https://server.example/mc",
                                 "https://evil.example/mcp", "http://server.example/mcp", ""}) {
        servers_.serve("https://server.example/.well-known/oauth-protected-resource/mcp",
                       Value::object({{"resource", resource},
                                      {"authorization_servers", Value::array({kIssuer})}}));
        EXPECT_FALSE(begin()) << resource;
    }
    EXPECT_EQ(servers_.times_asked(kRegisterUrl), 0U);
}

TEST_F(McpLoginFlow, AServerThatIsNotSafeIsRefused) {
    const Value bad[] = {metadata("code_challenge_methods_supported", nullptr),
                         metadata("code_challenge_methods_supported", Value::array({"plain"})),
                         metadata("authorization_endpoint", "javascript:alert(1)"),
                         metadata("authorization_endpoint", "http://login.example/authorize"),
                         metadata("token_endpoint", "http://login.example/token"),
                         metadata("token_endpoint", "")};
    for (const Value& each : bad) {
        publish(each);
        EXPECT_FALSE(begin()) << each.dump();
    }
    EXPECT_EQ(servers_.times_asked(kRegisterUrl), 0U);
}

TEST_F(McpLoginFlow, AnAnswerOfAnotherServerIsNotUsedAndNotShown) {
    publish(metadata("authorization_response_iss_parameter_supported", true));
    ASSERT_TRUE(begin());
    const std::string evil = "&iss=https%3A%2F%2Fevil.example";
    for (const std::string& rest :
         {"&code=c" + evil, std::string("&code=c"), "&error=secret_text" + evil,
          std::string("&code=c&iss=https%3A%2F%2Flogin.example%2Frealm%2F")}) {
        const auto done = finish(rest);
        ASSERT_FALSE(done) << rest;
        EXPECT_EQ(done.error().message.find("secret_text"), std::string::npos);
    }
    EXPECT_TRUE(forms_.empty()) << "no code went anywhere";
    const auto forged = loop_.run(flow_->finish(std::string(kRedirect) + "?state=x&code=c"));
    EXPECT_FALSE(forged);
    EXPECT_TRUE(finish("&code=c&iss=https%3A%2F%2Flogin.example%2Frealm"));
}

TEST_F(McpLoginFlow, ErrorsOfTheServerAreShownAsCodesOnly) {
    ASSERT_TRUE(begin());
    EXPECT_TRUE(finish("&error=access_denied").error().message.ends_with("access_denied"));
    EXPECT_TRUE(finish("&error=%1B%5B2Jevil").error().message.ends_with("unknown error"));
    EXPECT_FALSE(finish(""));
}

TEST_F(McpLoginFlow, RegistrationsAreOfTheirIssuer) {
    EXPECT_EQ(log_in(), "");
    EXPECT_EQ(log_in(), "");
    EXPECT_EQ(servers_.times_asked(kRegisterUrl), 1U) << "it is kept";
    const auto body = Value::parse(servers_.asked[2].body).value();
    EXPECT_EQ(*body.find("application_type")->as_string(), "native");
    EXPECT_EQ(*body.find("grant_types"), Value::array({"authorization_code", "refresh_token"}));
    EXPECT_FALSE(credentials_.find_client("https://login.example/realm/"));

    open({.configured_issuer = "https://other.example",
          .configured = OAuthClient{.id = "mine", .secret = Secret<std::string>("s")}});
    EXPECT_FALSE(begin()) << "a secret for one issuer goes to no other";
    open({.configured_issuer = kIssuer, .configured = OAuthClient{.id = "mine"}});
    ASSERT_TRUE(begin());
    EXPECT_EQ(asked("client_id"), "mine");
    publish(metadata("client_id_metadata_document_supported", true));
    open({.metadata_document = "https://crab.example/client.json"});
    ASSERT_TRUE(begin());
    EXPECT_EQ(asked("client_id"), "https://crab.example/client.json");
}

TEST_F(McpLoginFlow, ScopesAreOfTheChallengeThenOfTheServer) {
    ASSERT_TRUE(begin({.scope = "read"}));
    EXPECT_EQ(asked("scope"), "read");
    publish(metadata("scopes_supported", Value::array({"offline_access", "email"})));
    ASSERT_TRUE(begin({.scope = "read"}));
    EXPECT_EQ(asked("scope"), "read offline_access");
}

TEST_F(McpLoginFlow, StepUpsAskForAllScopesAndEnd) {
    EXPECT_EQ(log_in({.scope = "read"}), "");
    for (int i = 1; i <= LoginFlow::kMostStepUps; ++i) {
        auto tokens = *stored();
        tokens.wanted_scope = "write";
        credentials_.save_tokens({.source = "files", .owner = "caller/ann"}, tokens);
        EXPECT_EQ(log_in(), "") << i;
        EXPECT_EQ(asked("scope"), "read write");
        EXPECT_EQ(stored()->step_ups, i);
    }
    auto tokens = *stored();
    tokens.wanted_scope = "more";
    credentials_.save_tokens({.source = "files", .owner = "caller/ann"}, tokens);
    EXPECT_NE(log_in(), "");
}

constexpr const char* kRefused = "Bearer error=\"invalid_token\"";

class McpOAuthAuthorizer : public OAuthWorld {
protected:
    using Answer = Result<std::optional<std::string>>;
    Answer ask(std::string_view challenge = {}, std::string owner = "caller/ann") {
        upstream_.source = "files";
        upstream_.url = kServer;
        upstream_.owner = std::move(owner);
        std::optional<RefusedCredential> refused;
        if (!challenge.empty()) refused.emplace(std::string(challenge), given_);
        auto answer = loop_.run(authorizer_.authorization(upstream_, refused, kNoDeadline));
        if (answer) given_ = answer->value_or("");
        return answer;
    }
    auto start_refused(Deadline deadline) {
        return loop_.start(
            authorizer_.authorization(upstream_, RefusedCredential{kRefused, given_}, deadline));
    }
    std::string stored_refresh() const {
        return credentials_.find_tokens({.source = "files", .owner = "caller/ann"})
            ->refresh.reveal();
    }
    std::string header(std::string_view challenge = {}, std::string owner = "caller/ann") {
        const Answer answer = ask(challenge, std::move(owner));
        return answer ? answer->value_or("nothing") : std::string(answer.error().message);
    }
    void use_client_credentials() {
        auth_.kind = UpstreamAuth::Kind::kClientCredentials;
        auth_.issuer = kIssuer;
        auth_.client = {.id = "gw", .secret = Secret<std::string>("s:1")};
        publish(metadata("token_endpoint_auth_methods_supported", nullptr));
    }
    void use_login(std::string access = "a0", std::string refresh = "r0") {
        auth_.kind = UpstreamAuth::Kind::kUser;
        credentials_.save_tokens({.source = "files", .owner = "caller/ann"},
                                 {.issuer = kIssuer,
                                  .resource = kServer,
                                  .client_id = "registered",
                                  .access = Secret<std::string>(std::move(access)),
                                  .refresh = Secret<std::string>(std::move(refresh)),
                                  .scope = "read"});
    }

    UpstreamAuth auth_;
    std::string given_;  ///< the header that was given last
    UpstreamOptions upstream_;
    OAuthAuthorizer authorizer_{servers_,         credentials_,
                                loop_.executor(), loop_.timers,
                                loop_.clock,      [this](const std::string&) { return auth_; }};
};

TEST_F(McpOAuthAuthorizer, WithoutAuthNothingIsSent) {
    EXPECT_EQ(header(), "nothing");
    EXPECT_EQ(ask(kRefused).error().code, ErrorCode::kAuthRequired);
}

TEST_F(McpOAuthAuthorizer, ClientCredentialsAreAskedForOnceUntilTheyEnd) {
    use_client_credentials();
    auth_.scopes = {"read"};
    EXPECT_EQ(header(), "Bearer a1");
    EXPECT_EQ(header({}, "caller/bob"), "Bearer a1") << "they are the gateway's";
    EXPECT_EQ(servers_.asked.back().headers.front().second, "Basic Z3c6cyUzQTE=");
    EXPECT_EQ(field(forms_[0], "grant_type"), "client_credentials");
    EXPECT_EQ(field(forms_[0], "resource"), kServer);
    EXPECT_EQ(field(forms_[0], "scope"), "read");
    loop_.advance(271s);
    EXPECT_EQ(header(), "Bearer a2") << "renewed before it ends";
}

TEST_F(McpOAuthAuthorizer, TheSecretGoesWhereTheMetadataSays) {
    use_client_credentials();
    publish(
        metadata("token_endpoint_auth_methods_supported", Value::array({"client_secret_post"})));
    EXPECT_EQ(header(), "Bearer a1");
    EXPECT_EQ(field(forms_[0], "client_secret"), "s:1");
    EXPECT_TRUE(servers_.asked.back().headers.empty());
}

TEST_F(McpOAuthAuthorizer, AKeySignsAnAssertionForTheIssuer) {
    use_client_credentials();
    auth_.client.secret = {};
    auth_.key = crypto::PrivateKey::generate_p256();
    EXPECT_EQ(header(), "Bearer a1");
    const auto jwt = parse_jwt(field(forms_[0], "client_assertion"));
    ASSERT_TRUE(jwt) << jwt.error().message;
    EXPECT_EQ(*jwt->claims.find("aud")->as_string(), kIssuer);
    EXPECT_EQ(*jwt->claims.find("sub")->as_string(), "gw");
    const auto keys = JwkSet::parse(test::key_set({test::jwk_of(*auth_.key, "")}).dump());
    const Jwk* const key = keys->find("", jwt->algorithm);
    ASSERT_NE(key, nullptr);
    EXPECT_TRUE(key->key.verify(jwt->algorithm, jwt->signed_text, jwt->signature));
}

TEST_F(McpOAuthAuthorizer, TheSecretIsForItsIssuerAlone) {
    use_client_credentials();
    servers_.serve(
        "https://server.example/.well-known/oauth-protected-resource/mcp",
        Value::object({{"resource", kServer},
                       {"authorization_servers", Value::array({"https://evil.example"})}}));
    EXPECT_EQ(ask().error().code, ErrorCode::kAuthRequired);
    EXPECT_TRUE(forms_.empty());
}

// Row 110.
TEST_F(McpOAuthAuthorizer, ALoginIsOfItsOwner) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    EXPECT_EQ(header({}, "caller/bob"), "nothing") << "the server says whether it wants a login";
    const auto other = ask(kRefused, "caller/bob");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::kAuthRequired);
    EXPECT_NE(other.error().message.find("`crab mcp login files --for caller/bob`"),
              std::string::npos);
    EXPECT_EQ(ask(kRefused, "").error().message, "files needs a login: `crab mcp login files`");
}

TEST_F(McpOAuthAuthorizer, TheLastChallengeOfAnOwnerIsKnownForItsLogin) {
    auth_.kind = UpstreamAuth::Kind::kUser;
    const TokenKey ann{.source = "files", .owner = "caller/ann"};
    EXPECT_EQ(header(), "nothing");
    EXPECT_FALSE(authorizer_.last_challenge(ann));
    EXPECT_FALSE(ask("Bearer resource_metadata=\"https://a/b\", scope=\"x\""));
    EXPECT_EQ(authorizer_.last_challenge(ann)->resource_metadata, "https://a/b");
    EXPECT_FALSE(authorizer_.last_challenge({.source = "files", .owner = ""}));
}

TEST_F(McpOAuthAuthorizer, ARefusedTokenIsRefreshedOnce) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    EXPECT_EQ(header(kRefused), "Bearer a1");
    EXPECT_EQ(field(forms_[0], "refresh_token"), "r0");
    EXPECT_EQ(field(forms_[0], "resource"), kServer);
    EXPECT_EQ(ask(kRefused).error().code, ErrorCode::kAuthRequired)
        << "the new one was refused too";
    EXPECT_EQ(forms_.size(), 1U);
    EXPECT_EQ(
        credentials_.find_tokens({.source = "files", .owner = "caller/ann"})->refresh.reveal(),
        "r1")
        << "a rotated one is kept";
    EXPECT_EQ(header(), "Bearer a1");
    EXPECT_EQ(header(kRefused), "Bearer a2") << "another request has its own";
}

TEST_F(McpOAuthAuthorizer, ARefusalOfAReplacedTokenCountsForNothing) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    const std::string old = given_;
    EXPECT_EQ(header(kRefused), "Bearer a1");
    given_ = old;  // of a request that was slower
    EXPECT_EQ(header(kRefused), "Bearer a1");
    EXPECT_EQ(forms_.size(), 1U);
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    EXPECT_EQ(header(), "Bearer a1");
    const auto first = start_refused(kNoDeadline);
    given_ = old;
    const auto slower = start_refused(kNoDeadline);
    EXPECT_FALSE(slower->ended()) << "it is not given the one that is being replaced";
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    EXPECT_EQ(first->get()->value(), "Bearer a2");
    EXPECT_EQ(slower->get()->value(), "Bearer a2");
    EXPECT_EQ(forms_.size(), 2U);
}

TEST_F(McpOAuthAuthorizer, ARefusedRefreshNeedsALogin) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    refuses_ = true;
    EXPECT_EQ(ask(kRefused).error().code, ErrorCode::kAuthRequired);
    use_login("a0", "");
    EXPECT_EQ(ask(kRefused).error().code, ErrorCode::kAuthRequired);
}

TEST_F(McpOAuthAuthorizer, TwoRequestsShareOneRefresh) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto first = start_refused(kNoDeadline);
    const auto second = start_refused(kNoDeadline);
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    EXPECT_EQ(first->get()->value(), "Bearer a1");
    EXPECT_EQ(second->get()->value(), "Bearer a1");
    EXPECT_EQ(forms_.size(), 1U);
}

TEST_F(McpOAuthAuthorizer, WhoWaitsForARefreshThatFailsDoesNotTryItAgain) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    refuses_ = true;
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto first = start_refused(kNoDeadline);
    const auto second = start_refused(kNoDeadline);
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    EXPECT_EQ(first->get().error().code, ErrorCode::kAuthRequired);
    EXPECT_EQ(second->get().error().code, ErrorCode::kAuthRequired);
    EXPECT_EQ(forms_.size(), 1U);
    EXPECT_EQ(ask(kRefused).error().code, ErrorCode::kAuthRequired);
    EXPECT_EQ(forms_.size(), 2U) << "a later request tries it";
}

TEST_F(McpOAuthAuthorizer, AnIssuerThatHangsHoldsNoCallBeyondItsDeadline) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto first = start_refused(loop_.in(500ms));
    const auto second = start_refused(loop_.in(2s));
    loop_.advance(501ms);
    ASSERT_TRUE(first->ended());
    EXPECT_EQ(first->get().error().code, ErrorCode::kTimeout);
    EXPECT_NE(first->get().error().message.find("OAuth token for files"), std::string::npos);
    EXPECT_FALSE(second->ended());
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    EXPECT_EQ(second->get()->value(), "Bearer a1") << "it goes on for who still waits";
    EXPECT_EQ(forms_.size(), 1U);
}

TEST_F(McpOAuthAuthorizer, ARotatedRefreshTokenIsKeptWhenItsCallerHasLeft) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto only = start_refused(kNoDeadline);
    loop_.cancel(*only);
    EXPECT_EQ(only->get().error().code, ErrorCode::kCancelled);
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    ASSERT_EQ(forms_.size(), 1U);
    EXPECT_EQ(stored_refresh(), "r1");
    EXPECT_EQ(header(), "Bearer a1");
}

TEST_F(McpOAuthAuthorizer, ALoginThatEndsDuringItsRenewalStaysEnded) {
    const TokenKey ann{.source = "files", .owner = "caller/ann"};
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto only = start_refused(kNoDeadline);
    credentials_.forget_tokens(ann);
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    EXPECT_EQ(only->get().error().code, ErrorCode::kAuthRequired);
    EXPECT_FALSE(credentials_.find_tokens(ann));
}

TEST_F(McpOAuthAuthorizer, WhatWasObtainedForAnUpstreamThatIsGoneIsNotKept) {
    use_client_credentials();
    upstream_.source = "files";
    upstream_.url = kServer;
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto only = loop_.start(authorizer_.authorization(upstream_, {}, kNoDeadline));
    authorizer_.forget("files");
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    EXPECT_TRUE(only->ended());
    EXPECT_FALSE(credentials_.has_tokens("files"));
}

TEST_F(McpOAuthAuthorizer, StoppingAwaitsALoginsRenewalAndThenEndsIt) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto caller = start_refused(kNoDeadline);
    const auto finished = loop_.start(authorizer_.finish(loop_.in(2s)));
    EXPECT_FALSE(finished->ended());
    loop_.advance(2001ms);
    EXPECT_TRUE(finished->ended());
    bool stopped = false;
    authorizer_.stop([&] { stopped = true; });
    loop_.settle();
    EXPECT_TRUE(stopped);
    EXPECT_FALSE(caller->get()) << "nobody is left waiting";
    servers_.gate = nullptr;
    EXPECT_EQ(ask(kRefused).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(forms_.empty());
}

TEST_F(McpOAuthAuthorizer, TokensOfAnotherResourceAreNotSent) {
    use_login();
    upstream_.source = "files";
    upstream_.url = "https://elsewhere.example/mcp";
    upstream_.owner = "caller/ann";
    EXPECT_EQ(loop_.run(authorizer_.authorization(upstream_, {}, kNoDeadline)).error().code,
              ErrorCode::kAuthRequired);
    EXPECT_TRUE(forms_.empty());
}

TEST_F(McpOAuthAuthorizer, MoreScopesNeedALoginThatAsksForThem) {
    use_login();
    EXPECT_EQ(header(), "Bearer a0");
    const auto answer = ask("Bearer error=\"insufficient_scope\", scope=\"write admin\"");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kAuthRequired);
    EXPECT_EQ(credentials_.find_tokens({.source = "files", .owner = "caller/ann"})->wanted_scope,
              "write admin");
    EXPECT_TRUE(forms_.empty());
}

TEST(McpServerMetadata, PlacesAreAskedInTheirOrder) {
    using Urls = std::vector<std::string>;
    EXPECT_EQ(server_metadata_urls("https://a.example"),
              (Urls{"https://a.example/.well-known/oauth-authorization-server",
                    "https://a.example/.well-known/openid-configuration"}));
    EXPECT_EQ(server_metadata_urls("https://a.example/t/1"),
              (Urls{"https://a.example/.well-known/oauth-authorization-server/t/1",
                    "https://a.example/.well-known/openid-configuration/t/1",
                    "https://a.example/t/1/.well-known/openid-configuration"}));
    EXPECT_EQ(server_metadata_urls("nonsense"), Urls{});
    EXPECT_EQ(resource_metadata_urls("https://s.example/mcp"),
              (Urls{"https://s.example/.well-known/oauth-protected-resource/mcp",
                    "https://s.example/.well-known/oauth-protected-resource"}));
}

TEST(McpChallenge, TheBearerChallengeIsReadAmongOthers) {
    const auto read = read_challenge(
        R"(Basic realm="x, scope=no", bEARER realm="a\"b", Resource_Metadata = "https://a/b" ,)"
        R"( scope="a b", error=insufficient_scope, scope="c", DPoP scope="d", error="e")");
    EXPECT_EQ(read.resource_metadata, "https://a/b");
    EXPECT_EQ(read.scope, "a b");
    EXPECT_TRUE(read.needs_more_scopes());
    for (const char* text : {"", "Basic scope=\"a\"", "=", "\"", "Bearer scope=", "scope=\"a\""})
        EXPECT_EQ(read_challenge(text).scope, "") << text;
    EXPECT_EQ(union_of_scopes("a b", "b  c"), "a b c");
}

}  // namespace
}  // namespace crab::mcp
