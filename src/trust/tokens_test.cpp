#include "trust/tokens.hpp"

#include "base/test_clock.hpp"
#include "trust/test_token_store.hpp"

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
    std::string issue(IssueRequest request) {
        return tokens->issue(std::move(request)).value().token.reveal();
    }
    Error refusal(std::string_view token) {
        auto answer = tokens->prove(token);
        return answer ? Error{.message = "let in"} : answer.error();
    }

    FakeClock clock;
    TokenStoreMemory store;
    std::unique_ptr<Tokens> tokens = load();
};

TEST_F(TokensTest, ATokenIs64HexCharactersAndGivesItsDeviceAsPrincipal) {
    const auto issued =
        tokens
            ->issue({.name = "Kitchen tablet",
                     .tenants = {TenantId("home"), TenantId("garden"), TenantId("home")}})
            .value();
    EXPECT_EQ(issued.token.reveal().size(), 64u);
    EXPECT_EQ(issued.token.reveal().find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(issued.slug, "kitchen-tablet");

    const auto principal = tokens->prove(issued.token.reveal()).value().principal;
    EXPECT_EQ(principal->id, "device/kitchen-tablet");
    EXPECT_EQ(principal->device, "kitchen-tablet");
    EXPECT_EQ(principal->tenant, TenantId("home"));
    EXPECT_THAT(principal->more_tenants, ElementsAre(TenantId("garden")));
    EXPECT_EQ(principal->roles, Roles{Role::kDevice})
        << "the right to call others' tools is asked for";
    EXPECT_EQ(principal->proof, core::Proof::kBearerToken);
    EXPECT_EQ(principal->credential_id, issued.record.id);
}

TEST_F(TokensTest, ATokenWithoutTheDeviceRoleIsACallerWithoutADeviceRecord) {
    const auto token = issue({.name = "CI Job", .roles = {Role::kCaller}});
    const auto principal = tokens->prove(token).value().principal;
    EXPECT_EQ(principal->id, "caller/ci-job");
    EXPECT_EQ(principal->device, "");
    EXPECT_TRUE(tokens->devices().empty());
}

TEST_F(TokensTest, TheSameTokenGivesTheSamePointer) {
    const auto token = issue({.name = "phone"});
    EXPECT_EQ(tokens->prove(token).value().principal.get(),
              tokens->prove(token).value().principal.get());
}

TEST_F(TokensTest, WhatIsNoTokenIsRefusedWithWhatToDo) {
    issue({.name = "phone"});
    for (const std::string& wrong : {std::string(), std::string("abc"), std::string(64, 'A'),
                                     std::string(64, '0'), std::string(65, '0')}) {
        EXPECT_EQ(refusal(wrong).code, ErrorCode::kUnauthenticated) << wrong;
    }
    EXPECT_THAT(refusal(std::string(64, '0')).message, HasSubstr("pair"));
}

TEST_F(TokensTest, ATokenIsGoodUntilTheMomentItExpires) {
    const auto token = issue({.name = "phone", .lifetime = 1h});
    EXPECT_EQ(tokens->prove(token).value().good_until, clock.system_now() + 1h);
    clock.advance(1h - 1ms);
    EXPECT_TRUE(tokens->prove(token));
    clock.advance(1ms);
    EXPECT_EQ(refusal(token).code, ErrorCode::kUnauthenticated);
    EXPECT_THAT(refusal(token).message, HasSubstr("expired"));
}

TEST_F(TokensTest, ATokenWithoutALifetimeDoesNotExpire) {
    const auto token = issue({.name = "phone"});
    clock.advance(24h * 365 * 20);
    const auto proven = tokens->prove(token);
    ASSERT_TRUE(proven);
    EXPECT_EQ(proven->good_until, std::nullopt);
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
    EXPECT_TRUE(tokens->prove(other));
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
    EXPECT_FALSE(tokens->prove(issued.token.reveal()));
    EXPECT_TRUE(tokens->prove(second));
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
    EXPECT_EQ(tokens->prove(good).value().principal->id, "device/phone");
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
    EXPECT_FALSE(tokens->prove(token));
    store.failure.reset();
    EXPECT_EQ(tokens->revoke("phone").value(), 0);
    tokens = load();
    EXPECT_FALSE(tokens->prove(token));
}

TEST_F(TokensTest, UsesAreShownAtOnceAndStoredByTheNextFlush) {
    const auto token = issue({.name = "phone"});
    clock.advance(5s);
    ASSERT_TRUE(tokens->prove(token));
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
    ASSERT_TRUE(tokens->prove(token));
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
    for (const char* hidden : {"ci\u202E", "ci\u200B", "\U000E0001ci", "c\u200Di"}) {
        const auto issued = tokens->issue({.name = hidden, .roles = {core::Role::kCaller}});
        ASSERT_FALSE(issued) << hidden;
        EXPECT_EQ(issued.error().code, ErrorCode::kInvalidArgs);
        EXPECT_TRUE(issued.error().message.contains("U+")) << issued.error().message;
        EXPECT_EQ(tokens->check({.name = hidden}).error().code, ErrorCode::kInvalidArgs);
    }
    EXPECT_EQ(tokens->issue({.name = "a", .roles = {}}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = "a", .lifetime = 0ms}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(
        tokens->issue({.name = "a", .roles = {Role::kCaller}, .device = "phone"}).error().code,
        ErrorCode::kInvalidArgs);
    EXPECT_EQ(tokens->issue({.name = "a", .device = "phone"}).error().code, ErrorCode::kNotFound);
}

TEST_F(TokensTest, AStoreWithADamagedHashIsNotLoaded) {
    store.contents.tokens.push_back({.id = "deadbeef", .hash_hex = "beef", .name = "phone"});
    EXPECT_EQ(Tokens::load(store, clock).error().code, ErrorCode::kInternal);
}

TEST_F(TokensTest, ATokenBelongsToTheDefaultTenantUnlessOthersAreNamed) {
    const auto plain =
        tokens->prove(issue({.name = "ci", .roles = {Role::kCaller}})).value().principal;
    EXPECT_EQ(plain->tenant, TenantId("default"));
    EXPECT_TRUE(plain->may_act_in("default"));
    for (const char* tenant : {"secret", "system", ""})
        EXPECT_FALSE(plain->may_act_in(tenant)) << tenant;
    const auto wide = tokens
                          ->prove(issue({.name = "wide",
                                         .roles = {Role::kCaller},
                                         .tenants = {TenantId("default"), TenantId("secret")}}))
                          .value()
                          .principal;
    EXPECT_TRUE(wide->may_act_in("default"));
    EXPECT_TRUE(wide->may_act_in("secret"));
    EXPECT_FALSE(wide->may_act_in("system"));
    for (const char* wrong : {"", " ", "a\nb"})
        EXPECT_EQ(tokens->issue({.name = "x", .tenants = {TenantId(wrong)}}).error().code,
                  ErrorCode::kInvalidArgs)
            << wrong;
    EXPECT_EQ(
        tokens->issue({.name = "x", .tenants = {TenantId(std::string(129, 't'))}}).error().code,
        ErrorCode::kInvalidArgs);
}

TEST_F(TokensTest, AStoredTokenWithoutATenantIsOfTheDefaultOne) {
    const std::string token(64, 'a');
    store.contents.tokens.push_back({.id = "00000001",
                                     .hash_hex = crypto::sha256_hex(token),
                                     .name = "old",
                                     .roles = {Role::kCaller},
                                     .tenants = {TenantId("")}});
    tokens = load();
    EXPECT_EQ(tokens->prove(token).value().principal->tenant, TenantId("default"));
}

TEST_F(TokensTest, DifferentNamesAreNeverOnePrincipal) {
    const auto id_of = [&](const char* name) {
        return tokens->prove(issue({.name = name, .roles = {Role::kCaller}})).value().principal->id;
    };
    const std::string one = id_of("分身"), two = id_of("影武者");
    EXPECT_NE(one, two);
    EXPECT_TRUE(one.starts_with("caller/caller-")) << one;
    EXPECT_EQ(id_of("分身"), one) << "one name is one principal";
    EXPECT_EQ(id_of("CI"), "caller/ci");
    for (const char* taken : {"ci", "ci!", " CI", "c.i"}) {
        const auto refused = tokens->issue({.name = taken, .roles = {Role::kCaller}});
        if (refused)
            EXPECT_NE(refused->slug, "ci") << taken;
        else
            EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << taken;
    }
    EXPECT_THAT(tokens->issue({.name = "ci!", .roles = {Role::kCaller}}).error().message,
                testing::AllOf(HasSubstr("caller/ci"), HasSubstr("CI"), HasSubstr("choose")));
    EXPECT_EQ(tokens->check({.name = "ci!", .roles = {Role::kCaller}}).error().code,
              ErrorCode::kConflict);
    ASSERT_TRUE(tokens->revoke("CI"));
    EXPECT_FALSE(tokens->issue({.name = "ci", .roles = {Role::kCaller}}))
        << "what the one owned stays out of reach of the other";
    tokens = load();
    EXPECT_EQ(id_of("分身"), one) << "also after a restart";
    EXPECT_EQ(id_of("CI"), "caller/ci");
}

TEST_F(TokensTest, NamesThatSharedAPrincipalInAnOldStoreGetTheirOwnAndKeepThem) {
    const auto old = [&](const char* id, char letter, const char* name, SystemTime at,
                         std::optional<SystemTime> revoked = {}) {
        store.contents.tokens.push_back({.id = id,
                                         .hash_hex = crypto::sha256_hex(std::string(64, letter)),
                                         .name = name,
                                         .roles = {Role::kCaller},
                                         .tenants = {},
                                         .created_at = at,
                                         .revoked_at = revoked});
    };
    const SystemTime now = clock.system_now();
    old("00000001", 'a', "ci!", now - 3h, now - 1h);   // the oldest, and over
    old("00000002", 'b', "CI", now - 2h);
    old("00000003", 'c', "ci", now - 1h);
    old("00000004", 'd', "分身", now - 2h);
    old("00000005", 'e', "影武者", now - 1h);
    old("00000006", 'f', "CI", now);
    for (int life = 0; life < 2; ++life) {
        tokens = load();
        const auto id_of = [&](char letter) {
            return tokens->prove(std::string(64, letter)).value().principal->id;
        };
        EXPECT_EQ(id_of('b'), "caller/ci");
        EXPECT_EQ(id_of('f'), "caller/ci");
        EXPECT_EQ(id_of('c'), "caller/ci-2");
        EXPECT_EQ(id_of('d'), "caller/caller");
        EXPECT_TRUE(id_of('e').starts_with("caller/caller-")) << id_of('e');
        EXPECT_EQ(store.contents.tokens[0].caller, "ci-3");
    }
    EXPECT_EQ(tokens->revoke("ci").value(), 1) << "the one of that very name";
    EXPECT_TRUE(tokens->prove(std::string(64, 'b')));
    EXPECT_EQ(tokens->revoke("caller/ci").value(), 2);
    EXPECT_TRUE(tokens->prove(std::string(64, 'd')));
    EXPECT_EQ(tokens->revoke("影武者").value(), 1);
    EXPECT_TRUE(tokens->prove(std::string(64, 'd')));
}

TEST_F(TokensTest, AStoreThatCannotKeepTheNewNamesIsNotLoaded) {
    store.contents.tokens.push_back({.id = "00000001",
                                     .hash_hex = crypto::sha256_hex("a"),
                                     .name = "ci",
                                     .roles = {Role::kCaller}});
    store.failure = Error{.code = ErrorCode::kUnavailable, .message = "disk full"};
    EXPECT_EQ(Tokens::load(store, clock).error().code, ErrorCode::kUnavailable);
}

TEST_F(TokensTest, ANameThatMeansSeveralIsRefusedAndTouchesNone) {
    const auto device = issue({.name = "phone"});
    const auto caller = issue({.name = "phone", .roles = {Role::kCaller}});
    const auto refused = tokens->revoke("phone");
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_THAT(refused.error().message,
                testing::AllOf(HasSubstr("caller/phone"), HasSubstr("device/phone")));
    EXPECT_TRUE(tokens->prove(device));
    EXPECT_EQ(tokens->revoke("caller/phone").value(), 1);
    EXPECT_TRUE(tokens->prove(device));
    EXPECT_EQ(tokens->revoke("device/phone").value(), 1);
    EXPECT_EQ(tokens->revoke("caller/nobody").error().code, ErrorCode::kNotFound);
    const auto one = tokens->issue({.name = "ci", .roles = {Role::kCaller}}).value();
    EXPECT_EQ(tokens->revoke_token("phone").error().code, ErrorCode::kNotFound)
        << "an id is nothing else";
    EXPECT_EQ(tokens->revoke_token(one.record.id).value(), 1);
}

TEST_F(TokensTest, ADeviceWithAnotherNameKeepsItsSlugAndItsTokens) {
    const auto token = issue({.name = "phone"});
    const auto renamed = tokens->rename("phone", "Ann's phone");
    ASSERT_TRUE(renamed);
    EXPECT_EQ(std::tie(renamed->slug, renamed->display_name),
              std::make_tuple("phone", "Ann's phone"));
    EXPECT_EQ(tokens->devices().at(0).display_name, "Ann's phone");
    EXPECT_EQ(tokens->prove(token).value().principal->id, "device/phone");
    EXPECT_EQ(store.contents.devices.at(0).display_name, "Ann's phone");
    EXPECT_EQ(tokens->rename("nobody", "x").error().code, ErrorCode::kNotFound);
    for (const std::string name : {"", "a\nb", "phone\u202E"})
        EXPECT_EQ(tokens->rename("phone", name).error().code, ErrorCode::kInvalidArgs);
    store.failure = fail(ErrorCode::kUnavailable, "the disk is full").error();
    EXPECT_EQ(tokens->rename("phone", "other").error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(tokens->devices().at(0).display_name, "Ann's phone");
}

TEST_F(TokensTest, WhatAnotherGatewayIssuesAndRevokesCountsHereAfterARefresh) {
    const auto other = load();
    const auto issued = other->issue({.name = "phone"}).value();
    const std::string token = issued.token.reveal();
    EXPECT_FALSE(tokens->prove(token));
    ASSERT_TRUE(tokens->refresh());
    EXPECT_EQ(tokens->prove(token).value().principal->id, "device/phone");
    EXPECT_EQ(tokens->devices().size(), 1u);
    EXPECT_EQ(tokens->issue({.name = "phone"}).value().slug, "phone-2");
    std::vector<std::string> ended;
    tokens->on_revoked([&](const std::string& id) { ended.push_back(id); });
    const auto epoch = tokens->epoch();
    ASSERT_TRUE(tokens->refresh());
    EXPECT_EQ(tokens->epoch(), epoch) << "nothing has ended";
    ASSERT_TRUE(other->revoke_token(issued.record.id));
    ASSERT_TRUE(tokens->refresh());
    ASSERT_TRUE(tokens->refresh());
    EXPECT_THAT(ended, ElementsAre(issued.record.id)) << "once";
    EXPECT_NE(tokens->epoch(), epoch);
    EXPECT_THAT(refusal(token).message, HasSubstr("revoked"));
}

TEST_F(TokensTest, ManyThreadsMayAskWhileTokensComeAndGo) {
    const auto token = issue({.name = "stays"});
    std::atomic<bool> done = false;
    std::atomic<int> refused = 0;
    std::vector<std::jthread> askers;
    for (int i = 0; i < 3; ++i) {
        askers.emplace_back([&] {
            while (!done) refused += tokens->prove(token) ? 0 : 1;
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
