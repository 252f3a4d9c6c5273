#include "adapters/mcp/auth/resource_server.hpp"

#include "adapters/mcp/auth/test_fetcher.hpp"
#include "base/task/test_loop.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using namespace std::chrono_literals;
using json::Value;

constexpr const char* kIssuer = "https://login.example";
constexpr const char* kResource = "https://gw.example/mcp";
constexpr const char* kKeysUrl = "https://login.example/keys";

class McpResourceServer : public ::testing::Test {
protected:
    McpResourceServer() {
        servers_.serve("https://login.example/.well-known/oauth-authorization-server",
                       Value::object({{"issuer", kIssuer}, {"jwks_uri", kKeysUrl}}));
        publish({test::jwk_of(key_, "one")});
        open({});
    }
    void open(ResourceOptions options) {
        options.issuer = kIssuer;
        options.resource = kResource;
        ASSERT_TRUE(check_resource_options(options));
        server_.emplace(servers_, loop_.timers, loop_.clock, std::move(options));
    }
    void publish(Value::Items keys) { servers_.serve(kKeysUrl, test::key_set(std::move(keys))); }
    std::int64_t in(std::chrono::seconds span) const {
        return std::chrono::duration_cast<std::chrono::seconds>(
                   loop_.clock.system_now().time_since_epoch() + span)
            .count();
    }
    Value claims() const {
        return Value::object(
            {{"iss", kIssuer}, {"aud", kResource}, {"sub", "ann"}, {"exp", in(5min)}});
    }
    Value claims(std::string_view name, Value value) const {
        Value made = claims();
        made.set(name, std::move(value));
        return made;
    }
    /// An access token signed by the issuer's key.
    std::string token(const Value& claims, std::string_view typ = "at+jwt",
                      std::string_view kid = "one") const {
        Value header = Value::object({{"alg", "ES256"}, {"kid", kid}});
        if (!typ.empty()) header.set("typ", typ);
        const std::string text = to_base64url(header.dump()) + "." + to_base64url(claims.dump());
        return text + "." + to_base64url(crypto::jws_sign(key_, text));
    }
    Result<trust::Proven> verify(std::string token) {
        return loop_.run(server_->verify(std::move(token)));
    }
    ErrorCode refusal(std::string token) {
        const auto proven = verify(std::move(token));
        return proven ? ErrorCode::kInternal : proven.error().code;
    }

    TestLoop loop_;
    crypto::PrivateKey key_ = crypto::PrivateKey::generate_p256();
    test::TestFetcher servers_;
    std::optional<ResourceServer> server_;
};

TEST_F(McpResourceServer, AGoodTokenIsAPrincipalOfItsIssuer) {
    const std::string good = token(claims());
    EXPECT_TRUE(server_->may_be(good));
    EXPECT_FALSE(server_->find(good));
    const auto proven = verify(good);
    ASSERT_TRUE(proven) << proven.error().message;
    EXPECT_EQ(proven->principal->id, "oauth/login.example/ann");
    EXPECT_EQ(proven->principal->tenant.text(), "default");
    EXPECT_EQ(proven->principal->roles, core::Roles{core::Role::kCaller});
    EXPECT_EQ(proven->principal->proof, core::Proof::kBearerToken);
    EXPECT_TRUE(server_->find(good));
    EXPECT_TRUE(verify(token(claims("aud", Value::array({"other", kResource})))));
    EXPECT_TRUE(verify(token(claims(), "application/AT+JWT")));
    EXPECT_TRUE(verify(token(claims(), "")));
}

// Row 106.
TEST_F(McpResourceServer, TokensOfOthersForOthersAndOfOtherTimesAreRefused) {
    const Value bad[] = {claims("iss", "https://login.example/"),
                         claims("iss", "https://evil.example"),
                         claims("iss", 1),
                         claims("aud", "https://gw.example/mcp/"),
                         claims("aud", "https://gw.example"),
                         claims("aud", Value::array({"x"})),
                         claims("aud", nullptr),
                         claims("exp", in(-60s)),
                         claims("exp", "soon"),
                         claims("exp", -1),
                         claims("exp", 1e300),
                         claims("nbf", in(61s)),
                         claims("nbf", "x"),
                         claims("sub", ""),
                         claims("sub", 7)};
    for (const Value& each : bad)
        EXPECT_EQ(refusal(token(each)), ErrorCode::kUnauthenticated) << each.dump();
    EXPECT_TRUE(verify(token(claims("exp", in(-59s))))) << "clocks differ by a minute";
    EXPECT_TRUE(verify(token(claims("nbf", in(60s)))));
    for (const char* name : {"iss", "aud", "exp", "sub"}) {
        Value without = claims();
        without.erase(name);
        EXPECT_EQ(refusal(token(without)), ErrorCode::kUnauthenticated) << name;
    }
    for (const char* typ : {"at+jwt", "application/at+jwt", "JWT", "jwt", ""})
        EXPECT_TRUE(verify(token(claims(), typ))) << typ;
    EXPECT_EQ(refusal(token(claims("aud", "some-client"), "JWT")), ErrorCode::kUnauthenticated)
        << "an ID token is for its client";
    for (const char* typ : {"id+jwt", "dpop+jwt", "logout+jwt", "application/", "at"})
        EXPECT_EQ(refusal(token(claims(), typ)), ErrorCode::kUnauthenticated) << typ;
}

// Row 106.
TEST_F(McpResourceServer, UnsignedAndSharedSecretTokensAreRefused) {
    for (const char* algorithm : {"none", "HS256", "RS256", "EdDSA"}) {
        const Value header = Value::object({{"alg", algorithm}, {"kid", "one"}});
        for (const char* signature : {"", "AAAA"})
            EXPECT_EQ(refusal(test::token_of(header, claims(), signature)),
                      ErrorCode::kUnauthenticated)
                << algorithm;
    }
    std::string changed = token(claims());
    changed[changed.size() - 10] = changed[changed.size() - 10] == 'A' ? 'B' : 'A';
    EXPECT_EQ(refusal(changed), ErrorCode::kUnauthenticated);
    const std::string other = make_jwt(crypto::PrivateKey::generate_p256(), "one", claims());
    EXPECT_EQ(refusal(other), ErrorCode::kUnauthenticated);
}

TEST_F(McpResourceServer, KeysAreKeptForTenMinutes) {
    ASSERT_TRUE(verify(token(claims())));
    ASSERT_TRUE(verify(token(claims("jti", "2"))));
    EXPECT_EQ(servers_.times_asked(kKeysUrl), 1U);
    loop_.advance(10min);
    ASSERT_TRUE(verify(token(claims("jti", "3"))));
    EXPECT_EQ(servers_.times_asked(kKeysUrl), 2U);
}

TEST_F(McpResourceServer, AnUnknownKidFetchesTheKeysAtMostEachThirtySeconds) {
    ASSERT_TRUE(verify(token(claims())));
    loop_.advance(30s);
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(refusal(token(claims(), "", "two")), ErrorCode::kUnauthenticated);
    EXPECT_EQ(servers_.times_asked(kKeysUrl), 2U);
    publish({test::jwk_of(key_, "one"), test::jwk_of(key_, "two")});
    EXPECT_EQ(refusal(token(claims(), "", "two")), ErrorCode::kUnauthenticated);
    loop_.advance(30s);
    EXPECT_TRUE(verify(token(claims(), "", "two")));
    EXPECT_EQ(servers_.times_asked(kKeysUrl), 3U);
}

TEST_F(McpResourceServer, TheKeysAreFetchedByOneForAllWhoWait) {
    Waiter gate(loop_.timers);
    servers_.gate = &gate;
    const auto first = loop_.start(server_->verify(token(claims("jti", "1"))));
    const auto second = loop_.start(server_->verify(token(claims("jti", "2"))));
    const auto third = loop_.start(server_->verify(token(claims("jti", "3"))));
    EXPECT_EQ(servers_.asked.size(), 1U);
    loop_.cancel(*second);
    EXPECT_EQ(second->get().error().code, ErrorCode::kCancelled);
    servers_.gate = nullptr;
    gate.wake();
    loop_.settle();
    EXPECT_TRUE(first->get());
    EXPECT_TRUE(third->get());
    EXPECT_EQ(servers_.times_asked(kKeysUrl), 1U);
}

TEST_F(McpResourceServer, WithoutKeysNobodyIsRefusedForGood) {
    servers_.serve(kKeysUrl, "oops", 500);
    EXPECT_EQ(refusal(token(claims())), ErrorCode::kUnavailable);
    EXPECT_EQ(refusal(token(claims())), ErrorCode::kUnavailable);
    EXPECT_EQ(servers_.times_asked(kKeysUrl), 1U);
    publish({test::jwk_of(key_, "one")});
    loop_.advance(30s);
    EXPECT_TRUE(verify(token(claims())));
}

// Row 113.
TEST_F(McpResourceServer, MetadataOfAnotherIssuerGivesNoKeys) {
    servers_.serve("https://login.example/.well-known/oauth-authorization-server",
                   Value::object({{"issuer", "https://login.example/"}, {"jwks_uri", kKeysUrl}}));
    EXPECT_EQ(refusal(token(claims())), ErrorCode::kUnavailable);
    EXPECT_EQ(servers_.times_asked(kKeysUrl), 0U);
}

TEST_F(McpResourceServer, OnlyItsOwnOriginMayBePrivate) {
    servers_.serve("https://login.example/.well-known/oauth-authorization-server",
                   Value::object({{"issuer", kIssuer}, {"jwks_uri", "https://10.0.0.1/keys"}}));
    (void)verify(token(claims()));
    ASSERT_EQ(servers_.asked.size(), 2U);
    EXPECT_EQ(servers_.asked[0].reach, FetchReach::kConfigured);
    EXPECT_EQ(servers_.asked[1].reach, FetchReach::kPublic);
}

TEST_F(McpResourceServer, TenantAndRolesComeFromTheClaimsThatTheOperatorNamed) {
    open({.tenant_claim = "org", .roles_claim = "groups"});
    Value made = claims("org", Value::array({"acme", "beta"}));
    made.set("groups", "operator device tool_host unknown");
    const auto proven = verify(token(made));
    ASSERT_TRUE(proven) << proven.error().message;
    EXPECT_EQ(proven->principal->tenant.text(), "acme");
    EXPECT_TRUE(proven->principal->may_act_in("beta"));
    EXPECT_FALSE(proven->principal->may_act_in("default"));
    EXPECT_EQ(proven->principal->roles, core::Roles{core::Role::kOperator});
    made.set("groups", "device");
    EXPECT_EQ(refusal(token(made)), ErrorCode::kUnauthenticated);
    made.set("groups", "caller");
    made.erase("org");
    EXPECT_EQ(refusal(token(made)), ErrorCode::kUnauthenticated);
}

TEST_F(McpResourceServer, ASubjectCannotTakeTheNameOfAnother) {
    const auto id = [&](const char* subject) {
        return verify(token(claims("sub", subject)))->principal->id;
    };
    EXPECT_EQ(id("auth0|ann@example.org"), "oauth/login.example/auth0|ann@example.org");
    EXPECT_EQ(id("a/b*%2F \n"), "oauth/login.example/a%2Fb%2A%252F%20%0A");
}

// Row 107.
TEST_F(McpResourceServer, ARefusalNamesAllScopesAndTheMetadata) {
    open({.scopes = {"tools:list", "tools:call"}});
    EXPECT_TRUE(verify(token(claims("scope", "x tools:call tools:list"))));
    const auto refused = verify(token(claims("scope", "tools:call")));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kForbidden);
    const std::string rest =
        ", resource_metadata=\"https://gw.example/.well-known/oauth-protected-resource/mcp\""
        ", scope=\"tools:list tools:call\"";
    EXPECT_EQ(server_->challenge(nullptr), "Bearer realm=\"crab\"" + rest);
    EXPECT_EQ(server_->challenge(&refused.error()),
              "Bearer realm=\"crab\", error=\"insufficient_scope\"" + rest);
    const Error bad{.code = ErrorCode::kUnauthenticated};
    EXPECT_EQ(server_->challenge(&bad), "Bearer realm=\"crab\", error=\"invalid_token\"" + rest);
}

TEST_F(McpResourceServer, IntrospectionDecidesAboutOpaqueTokens) {
    const std::string url = "https://login.example/introspect";
    open({.introspection = url,
          .introspection_client = "gw",
          .introspection_secret = Secret<std::string>("s")});
    EXPECT_TRUE(server_->may_be("opaque"));
    EXPECT_FALSE(server_->may_be("with blank"));
    EXPECT_FALSE(server_->may_be(std::string(64, 'a'))) << "crab's own";
    servers_.serve(url, [&](const FetchRequest& request) {
        EXPECT_EQ(request.headers.front().second, "Basic Z3c6cw==");
        Value answer = claims();
        answer.set("active", request.body.starts_with("token=opaque%2B&"));
        return Result<FetchReply>(FetchReply{.status = 200, .body = answer.dump()});
    });
    EXPECT_TRUE(verify("opaque+"));
    EXPECT_TRUE(verify("opaque+"));
    EXPECT_EQ(servers_.times_asked(url), 1U);
    loop_.advance(60s);
    EXPECT_FALSE(server_->find("opaque+")) << "a revoked token ends within a minute";
    EXPECT_EQ(refusal("other"), ErrorCode::kUnauthenticated);
    servers_.serve(url, claims("active", true).dump(), 401);
    EXPECT_EQ(refusal("opaque+"), ErrorCode::kUnavailable);
    Value foreign = claims("aud", "https://other.example");
    foreign.set("active", true);
    servers_.serve(url, foreign);
    EXPECT_EQ(refusal("opaque+"), ErrorCode::kUnauthenticated);
}

TEST_F(McpResourceServer, TheMetadataNamesResourceAndIssuer) {
    open({.scopes = {"tools:call"}});
    EXPECT_EQ(server_->metadata(),
              R"({"resource":"https://gw.example/mcp",)"
              R"("authorization_servers":["https://login.example"],)"
              R"("scopes_supported":["tools:call"],"bearer_methods_supported":["header"]})");
    EXPECT_TRUE(server_->covers("/mcp"));
    EXPECT_TRUE(server_->covers("/mcp/scope"));
    EXPECT_FALSE(server_->covers("/mcpx"));
    EXPECT_FALSE(server_->covers("/v1/tools/call")) << "the token is not for it";
}

TEST(McpResourceOptions, WhatIsNoCanonicalResourceIsTold) {
    const auto check = [](std::string resource, std::vector<std::string> scopes = {}) {
        return check_resource_options(
            {.issuer = kIssuer, .resource = std::move(resource), .scopes = std::move(scopes)});
    };
    EXPECT_TRUE(check(kResource));
    EXPECT_TRUE(check("http://127.0.0.1:8080/mcp"));
    for (const char* resource :
         {"http://gw.example/mcp", "https://GW.example/mcp", "https://gw.example/mcp/",
          "https://gw.example/mcp#x", "https://gw.example/mcp?x=1", "HTTPS://gw.example/mcp", "mcp",
          "https://gw.example:443/mcp"})
        EXPECT_FALSE(check(resource)) << resource;
    EXPECT_FALSE(check(kResource, {"a b"}));
    EXPECT_FALSE(check(kResource, {"offline_access"}));
}

}  // namespace
}  // namespace crab::mcp
