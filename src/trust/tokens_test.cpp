#include "trust/tokens.hpp"

#include "trust/token_store_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace crab::trust {
namespace {

using core::Role;
using core::Roles;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class TokensTest : public testing::Test {
protected:
    std::unique_ptr<Tokens> load() { return std::move(Tokens::load(store, clock).value()); }
    std::string issue(IssueRequest request) { return tokens->issue(std::move(request)).value().token.reveal(); }
    Error refusal(std::string_view token) {
        auto answer = tokens->authenticate(token);
        return answer ? Error{.message = "let in"} : answer.error();
    }

    FakeClock clock;
    TokenStoreMemory store;
    std::unique_ptr<Tokens> tokens = load();
};

TEST_F(TokensTest, ATokenIs64HexCharactersAndGivesItsDeviceAsPrincipal) {
    const auto issued = tokens->issue({.name = "Kitchen tablet", .tenant = TenantId("home")}).value();
    EXPECT_EQ(issued.token.reveal().size(), 64u);
    EXPECT_EQ(issued.token.reveal().find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(issued.slug, "kitchen-tablet");

    const auto principal = tokens->authenticate(issued.token.reveal()).value();
    EXPECT_EQ(principal->id, "device/kitchen-tablet");
    EXPECT_EQ(principal->device, "kitchen-tablet");
    EXPECT_EQ(principal->tenant, TenantId("home"));
    EXPECT_EQ(principal->roles, (Roles{Role::kDevice, Role::kCaller}));
    EXPECT_EQ(principal->proof, core::Proof::kBearerToken);
    EXPECT_EQ(principal->credential_id, issued.record.id);
}

TEST_F(TokensTest, ATokenWithoutTheDeviceRoleIsACallerWithoutADeviceRecord) {
    const auto token = issue({.name = "CI Job", .roles = {Role::kCaller}});
    const auto principal = tokens->authenticate(token).value();
    EXPECT_EQ(principal->id, "caller/ci-job");
    EXPECT_EQ(principal->device, "");
    EXPECT_TRUE(tokens->devices().empty());
}

TEST_F(TokensTest, TheSameTokenGivesTheSamePointer) {
    const auto token = issue({.name = "phone"});
    EXPECT_EQ(tokens->authenticate(token).value().get(), tokens->authenticate(token).value().get());
}

TEST_F(TokensTest, WhatIsNoTokenIsRefusedWithWhatToDo) {
    issue({.name = "phone"});
    for (const std::string& wrong : {std::string(), std::string("abc"), std::string(64, 'A'), std::string(64, '0'), std::string(65, '0')}) {
        EXPECT_EQ(refusal(wrong).code, ErrorCode::kUnauthenticated) << wrong;
    }
    EXPECT_THAT(refusal(std::string(64, '0')).message, HasSubstr("pair"));
}

TEST_F(TokensTest, ATokenIsGoodUntilTheMomentItExpires) {
    const auto token = issue({.name = "phone", .lifetime = 1h});
    const auto principal = tokens->authenticate(token).value();
    EXPECT_EQ(tokens->expires_at(*principal), clock.system_now() + 1h);
    clock.advance(1h - 1ms);
    EXPECT_TRUE(tokens->authenticate(token));
    clock.advance(1ms);
    EXPECT_EQ(refusal(token).code, ErrorCode::kUnauthenticated);
    EXPECT_THAT(refusal(token).message, HasSubstr("expired"));
}

TEST_F(TokensTest, ATokenWithoutALifetimeDoesNotExpire) {
    const auto token = issue({.name = "phone"});
    clock.advance(24h * 365 * 20);
    const auto principal = tokens->authenticate(token);
    ASSERT_TRUE(principal);
    EXPECT_EQ(tokens->expires_at(**principal), std::nullopt);
}

TEST_F(TokensTest, RevokingADeviceEndsAllItsTokensAndNoOthers) {
    const auto first = issue({.name = "phone"});
    const auto second = issue({.name = "phone again", .device = "phone"});
    const auto other = issue({.name = "tablet"});
    std::vector<std::string> closed;
    tokens->on_revoked([&](const std::string& id) { closed.push_back(id); });
    const auto epoch = tokens->epoch();

    EXPECT_EQ(tokens->revoke("phone").value(), 2);
    EXPECT_NE(tokens->epoch(), epoch);
    EXPECT_EQ(closed.size(), 2u);
    EXPECT_THAT(refusal(first).message, HasSubstr("revoked"));
    EXPECT_THAT(refusal(second).message, HasSubstr("revoked"));
    EXPECT_TRUE(tokens->authenticate(other));
    EXPECT_EQ(tokens->revoke("phone").value(), 0);
    EXPECT_EQ(closed.size(), 2u);
}

TEST_F(TokensTest, OneTokenIsRevokedByItsId) {
    const auto issued = tokens->issue({.name = "phone"}).value();
    const auto second = issue({.name = "phone", .device = "phone"});
    std::vector<std::string> closed;
    tokens->on_revoked([&](const std::string& id) { closed.push_back(id); });
    EXPECT_EQ(tokens->revoke(issued.record.id).value(), 1);
    EXPECT_THAT(closed, ElementsAre(issued.record.id));
    EXPECT_FALSE(tokens->authenticate(issued.token.reveal()));
    EXPECT_TRUE(tokens->authenticate(second));
}

TEST_F(TokensTest, ExpiredTokensAreRevokedButNotCounted) {
    issue({.name = "phone", .lifetime = 1s});
    clock.advance(1s);
    EXPECT_EQ(tokens->revoke("phone").value(), 0);
}

TEST_F(TokensTest, RevokingAnUnknownNameIsNotFoundAndLeavesTheEpoch) {
    const auto epoch = tokens->epoch();
    EXPECT_EQ(tokens->revoke("nobody").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(tokens->epoch(), epoch);
}

TEST_F(TokensTest, ASlugIsNeverGivenTwiceEvenAfterARevocationAndARestart) {
    issue({.name = "phone"});
    ASSERT_TRUE(tokens->revoke("phone"));
    tokens = load();
    EXPECT_EQ(tokens->issue({.name = "Phone"}).value().slug, "phone-2");
    EXPECT_EQ(tokens->issue({.name = "phone!"}).value().slug, "phone-3");
}

TEST_F(TokensTest, TokensAndRevocationsSurviveARestart) {
    const auto good = issue({.name = "phone"});
    const auto gone = issue({.name = "tablet"});
    ASSERT_TRUE(tokens->revoke("tablet"));
    tokens = load();
    EXPECT_EQ(tokens->authenticate(good).value()->id, "device/phone");
    EXPECT_THAT(refusal(gone).message, HasSubstr("revoked"));
}

TEST_F(TokensTest, TheStoreNeverSeesTheToken) {
    const auto issued = tokens->issue({.name = "phone"}).value();
    EXPECT_NE(store.contents.tokens.at(0).hash_hex, issued.token.reveal());
    EXPECT_EQ(store.contents.tokens.at(0).hash_hex, crypto::sha256_hex(issued.token.reveal()));
}

TEST_F(TokensTest, ATokenThatCannotBeStoredDoesNotExist) {
    store.failure = Error{.code = ErrorCode::kUnavailable, .message = "disk full"};
    EXPECT_EQ(tokens->issue({.name = "phone"}).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(tokens->list().empty());
    EXPECT_TRUE(tokens->devices().empty());
    store.failure.reset();
    EXPECT_EQ(tokens->issue({.name = "phone"}).value().slug, "phone");
}

TEST_F(TokensTest, ARevocationHoldsAtOnceEvenIfItCannotBeStoredAndARepeatStoresIt) {
    const auto token = issue({.name = "phone"});
    store.failure = Error{.code = ErrorCode::kUnavailable, .message = "disk full"};
    EXPECT_EQ(tokens->revoke("phone").error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(tokens->authenticate(token));
    store.failure.reset();
    EXPECT_EQ(tokens->revoke("phone").value(), 0);
    tokens = load();
    EXPECT_FALSE(tokens->authenticate(token));
}

TEST_F(TokensTest, UsesAreShownAtOnceAndStoredByTheNextFlush) {
    const auto token = issue({.name = "phone"});
    clock.advance(5s);
    ASSERT_TRUE(tokens->authenticate(token));
    EXPECT_EQ(tokens->list().at(0).last_used_at, clock.system_now());
    EXPECT_EQ(tokens->devices().at(0).last_seen_at, clock.system_now());
    EXPECT_EQ(store.contents.tokens.at(0).last_used_at, std::nullopt);
    ASSERT_TRUE(tokens->flush());
    EXPECT_EQ(store.contents.tokens.at(0).last_used_at, clock.system_now());
    EXPECT_EQ(store.contents.devices.at(0).last_seen_at, clock.system_now());
    store.failure = Error{.code = ErrorCode::kUnavailable, .message = "disk full"};
    EXPECT_TRUE(tokens->flush()) << "nothing was used since, so nothing is written";
}

TEST_F(TokensTest, ADeviceWasLastSeenWhenItsConnectionEnded) {
    const auto token = issue({.name = "phone"});
    ASSERT_TRUE(tokens->authenticate(token));
    clock.advance(3h);
    tokens->seen(tokens->list().at(0).id);
    tokens->seen("nobody");
    EXPECT_EQ(tokens->devices().at(0).last_seen_at, clock.system_now());
    ASSERT_TRUE(tokens->flush());
    EXPECT_EQ(store.contents.devices.at(0).last_seen_at, clock.system_now());
}

TEST_F(TokensTest, RequestsThatMakeNoSenseAreRefused) {
    EXPECT_EQ(tokens->issue({.name = ""}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = "a\nb"}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = std::string(129, 'a')}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = "a", .roles = {}}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = "a", .lifetime = 0ms}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = "a", .roles = {Role::kCaller}, .device = "phone"}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = "a", .device = "phone"}).error().code, ErrorCode::kNotFound);
}

TEST_F(TokensTest, AStoreWithADamagedHashIsNotLoaded) {
    store.contents.tokens.push_back({.id = "deadbeef", .hash_hex = "beef", .name = "phone"});
    EXPECT_EQ(Tokens::load(store, clock).error().code, ErrorCode::kInternal);
}

TEST_F(TokensTest, ManyThreadsMayAskWhileTokensComeAndGo) {
    const auto token = issue({.name = "stays"});
    std::atomic<bool> done = false;
    std::atomic<int> refused = 0;
    std::vector<std::jthread> askers;
    for (int i = 0; i < 3; ++i) {
        askers.emplace_back([&] {
            while (!done) refused += tokens->authenticate(token) ? 0 : 1;
        });
    }
    for (int i = 0; i < 200; ++i) {
        issue({.name = "comes"});
        ASSERT_TRUE(tokens->revoke(i == 0 ? "comes" : "comes-" + std::to_string(i + 1)));
        ASSERT_TRUE(tokens->flush());
        ASSERT_EQ(tokens->list().size(), static_cast<std::size_t>(i) + 2);
    }
    done = true;
    askers.clear();
    EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace crab::trust
