#include "trust/credential_cache.hpp"

#include "base/test_clock.hpp"
#include "crypto/signature.hpp"
#include "trust/test_token_store.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

using core::Role;
using namespace std::chrono_literals;

class CredentialCacheTest : public testing::Test {
protected:
    std::string issue(IssueRequest request) {
        return tokens->issue(std::move(request)).value().token.reveal();
    }
    /// A key that is paired for `lifetime`, and what opens a session of it.
    std::string enrol(std::optional<Milliseconds> lifetime = {}) {
        const crypto::PrivateKey key = crypto::PrivateKey::generate_ed25519();
        return tokens
            ->issue({.name = "phone", .lifetime = lifetime, .public_key = key.public_key().der})
            .value()
            .record.id;
    }
    std::string session(const std::string& key_id) {
        return tokens->open_session(key_id).value().token.reveal();
    }
    ErrorCode refusal(std::string_view token) {
        const auto found = cache.find(token);
        return found ? ErrorCode::kInternal : found.error().code;
    }

    FakeClock clock;
    TokenStoreMemory store;
    std::unique_ptr<Tokens> tokens = Tokens::load(store, clock).value();
    CredentialCache cache{*tokens, clock};
};

TEST_F(CredentialCacheTest, AKnownTokenIsTheSamePrincipalAndABadOneIsNotRemembered) {
    const std::string token = issue({.name = "ci", .roles = {Role::kCaller}});
    const auto first = cache.find(token).value();
    EXPECT_EQ(cache.find(token).value().principal, first.principal);
    EXPECT_EQ(cache.size(), 1u);
    EXPECT_EQ(refusal(std::string(64, '0')), ErrorCode::kUnauthenticated);
    EXPECT_EQ(refusal(""), ErrorCode::kUnauthenticated);
    EXPECT_EQ(cache.size(), 1u);
}

TEST_F(CredentialCacheTest, ATokenEndsAtItsExpiryAlthoughItIsKnown) {
    const std::string token = issue({.name = "ci", .roles = {Role::kCaller}, .lifetime = 1h});
    ASSERT_TRUE(cache.find(token));
    clock.advance(1h - 1ms);
    EXPECT_TRUE(cache.find(token));
    clock.advance(1ms);
    EXPECT_EQ(refusal(token), ErrorCode::kUnauthenticated);
    EXPECT_EQ(cache.size(), 0u);
}

TEST_F(CredentialCacheTest, ASessionOfAKeyEndsByItsOwnExpiryAndByThatOfTheKey) {
    const std::string forever = session(enrol());
    EXPECT_EQ(cache.find(forever).value().good_until,
              clock.system_now() + Tokens::kSessionLifetime);
    clock.advance(Tokens::kSessionLifetime - 1ms);
    EXPECT_TRUE(cache.find(forever));
    clock.advance(1ms);
    EXPECT_EQ(refusal(forever), ErrorCode::kUnauthenticated) << "the key itself never expires";

    const std::string brief = session(enrol(1h));
    ASSERT_TRUE(cache.find(brief));
    clock.advance(1h);
    EXPECT_EQ(refusal(brief), ErrorCode::kUnauthenticated) << "the key is over before its session";
}

TEST_F(CredentialCacheTest, ASessionThatNewerOnesPutOutIsOutAtOnce) {
    const std::string key = enrol();
    const std::string first = session(key), second = session(key);
    ASSERT_TRUE(cache.find(first));
    for (std::size_t i = 1; i < Tokens::kSessionsPerKey; ++i) session(key);
    EXPECT_EQ(refusal(first), ErrorCode::kUnauthenticated);
    EXPECT_TRUE(cache.find(second));
}

TEST_F(CredentialCacheTest, ARevocationEndsATokenAndTheSessionsOfAKey) {
    const std::string token = issue({.name = "ci", .roles = {Role::kCaller}}),
                      other = issue({.name = "other", .roles = {Role::kCaller}});
    const std::string of_key = session(enrol());
    for (const std::string& each : {token, other, of_key}) ASSERT_TRUE(cache.find(each));
    ASSERT_TRUE(tokens->revoke("ci"));
    EXPECT_EQ(refusal(token), ErrorCode::kUnauthenticated);
    EXPECT_TRUE(cache.find(other));
    ASSERT_TRUE(tokens->revoke("phone"));
    EXPECT_EQ(refusal(of_key), ErrorCode::kUnauthenticated);
    EXPECT_TRUE(cache.find(other));
}

TEST_F(CredentialCacheTest, ItIsBounded) {
    const std::string key = enrol();
    for (std::size_t i = 0; i < CredentialCache::kMost / Tokens::kSessionsPerKey + 2; ++i) {
        const std::string device = enrol();
        for (std::size_t n = 0; n < Tokens::kSessionsPerKey; ++n)
            ASSERT_TRUE(cache.find(session(device)));
        ASSERT_LE(cache.size(), CredentialCache::kMost);
    }
}

}  // namespace
}  // namespace crab::trust
