#include "adapters/mcp/auth/jwk_set.hpp"
#include "adapters/mcp/auth/test_fetcher.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using crypto::JwsAlgorithm;
using json::Value;

TEST(McpJwt, WhatAKeySignsItsJwkVerifies) {
    const auto key = crypto::PrivateKey::generate_p256();
    const auto set = JwkSet::parse(test::key_set({test::jwk_of(key, "a")}).dump());
    ASSERT_TRUE(set) << set.error().message;
    const auto jwt = parse_jwt(make_jwt(key, "a", Value::object({{"sub", "me"}})));
    ASSERT_TRUE(jwt) << jwt.error().message;
    EXPECT_EQ(jwt->algorithm, JwsAlgorithm::kEs256);
    EXPECT_EQ(jwt->kid, "a");
    EXPECT_EQ(*jwt->claims.find("sub")->as_string(), "me");
    const Jwk* const found = set->find(jwt->kid, jwt->algorithm);
    ASSERT_NE(found, nullptr);
    EXPECT_TRUE(found->key.verify(jwt->algorithm, jwt->signed_text, jwt->signature));
    EXPECT_FALSE(found->key.verify(jwt->algorithm, jwt->signed_text + "x", jwt->signature));
}

TEST(McpJwt, NoneSharedSecretsAndUnknownConditionsAreRefused) {
    const Value claims = Value::object({{"sub", "me"}});
    EXPECT_TRUE(parse_jwt(test::token_of(Value::object({{"alg", "ES256"}}), claims, "AAAA")));
    for (const char* algorithm : {"none", "None", "NONE", "HS256", "HS384", "HS512", "", "es256"}) {
        EXPECT_FALSE(parse_jwt(test::token_of(Value::object({{"alg", algorithm}}), claims, "AAAA")))
            << algorithm;
    }
    for (const Value& header :
         {Value::object(), Value::object({{"alg", 1}}),
          Value::object({{"alg", "ES256"}, {"crit", Value::array({"b64"})}, {"b64", false}}),
          Value::object({{"alg", "ES256"}, {"b64", false}}),
          Value::object({{"alg", "ES256"}, {"kid", 7}})}) {
        EXPECT_FALSE(parse_jwt(test::token_of(header, claims, "AAAA"))) << header.dump();
    }
}

TEST(McpJwt, WhatIsNoTokenIsRefused) {
    const std::string good =
        test::token_of(Value::object({{"alg", "ES256"}}), Value::object(), "AAAA");
    EXPECT_TRUE(looks_like_jwt(good));
    ASSERT_TRUE(parse_jwt(good));
    const std::string claims_of_list =
        to_base64url(R"({"alg":"ES256"})") + "." + to_base64url("[]") + ".AAAA";
    const std::string twice =
        to_base64url(R"({"alg":"ES256","alg":"RS256"})") + "." + to_base64url("{}") + ".AAAA";
    for (const std::string& text : {std::string(), std::string("a.b"), std::string(".."),
                                    good + ".AAAA", good + "=", good.substr(0, good.size() - 4),
                                    claims_of_list, twice, good + std::string(kMostJwt, 'A')})
        EXPECT_FALSE(parse_jwt(text)) << text.substr(0, 100);
}

TEST(McpJwkSet, KeysOfOtherKindsAndUsesAreLeftOut) {
    const auto key = crypto::PrivateKey::generate_p256();
    Value encrypts = test::jwk_of(key, "enc");
    encrypts.set("use", "enc");
    Value signs_only = test::jwk_of(key, "ops");
    signs_only.erase("use");
    signs_only.set("key_ops", Value::array({"sign"}));
    Value other_algorithm = test::jwk_of(key, "alg");
    other_algorithm.set("alg", "RS256");
    const Value secret = Value::object({{"kty", "oct"}, {"k", "AAAA"}, {"kid", "oct"}});
    const auto set = JwkSet::parse(
        test::key_set({encrypts, signs_only, other_algorithm, secret, 7, test::jwk_of(key, "good")})
            .dump());
    ASSERT_TRUE(set);
    EXPECT_EQ(set->size(), 1U);
    EXPECT_TRUE(set->has("good"));
    EXPECT_EQ(set->find("good", JwsAlgorithm::kEs384), nullptr);
    EXPECT_EQ(set->find("other", JwsAlgorithm::kEs256), nullptr);
    EXPECT_NE(set->find("", JwsAlgorithm::kEs256), nullptr) << "the only key that fits";
}

TEST(McpJwkSet, ATokenWithoutKidNeedsTheOnlyKeyThatFits) {
    const auto key = crypto::PrivateKey::generate_p256();
    const auto two =
        JwkSet::parse(test::key_set({test::jwk_of(key, "a"), test::jwk_of(key, "b")}).dump());
    EXPECT_EQ(two->find("", JwsAlgorithm::kEs256), nullptr);
    EXPECT_NE(two->find("b", JwsAlgorithm::kEs256), nullptr);
    EXPECT_FALSE(JwkSet::parse("{}"));
    EXPECT_FALSE(JwkSet::parse("[]"));
    EXPECT_FALSE(JwkSet::parse(test::key_set(Value::Items(JwkSet::kMost + 1)).dump()));
}

}  // namespace
}  // namespace crab::mcp
