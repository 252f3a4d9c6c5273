#include "trust/token_store.hpp"
#include "base/test_clock.hpp"
#include "crypto/digest.hpp"
#include "store/suite/test_engine.hpp"
#include "trust/tokens.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace crab::store {
namespace {

using namespace std::chrono_literals;

class TokenStoreTest : public StoreSuite {
protected:
    std::unique_ptr<trust::TokenStore> open() { return engine().trust().open_tokens().value(); }

    FakeClock clock;
};

TEST_P(TokenStoreTest, EveryFieldSurvives) {
    const SystemTime now = clock.system_now();
    const trust::TokenRecord token{.id = "0a1b2c3d",
                                   .hash_hex = std::string(64, 'a'),
                                   .name = "Küche",
                                   .device = "k-che",
                                   .roles = {core::Role::kDevice, core::Role::kSubscriber},
                                   .tenants = {TenantId("home"), TenantId("b c")},
                                   .created_at = now,
                                   .expires_at = now + 1h,
                                   .revoked_at = now + 2h,
                                   .last_used_at = now + 3h};
    const trust::DeviceRecord device{
        .slug = "k-che", .display_name = "Küche", .created_at = now, .last_seen_at = now + 4h};
    ASSERT_TRUE(open()->insert(token, device));

    const auto contents = open()->load_all().value();
    ASSERT_EQ(contents.tokens.size(), 1u);
    const trust::TokenRecord& back = contents.tokens[0];
    EXPECT_EQ(
        std::tie(back.id, back.hash_hex, back.name, back.device, back.roles, back.tenants),
        std::tie(token.id, token.hash_hex, token.name, token.device, token.roles, token.tenants));
    EXPECT_EQ(std::tie(back.created_at, back.expires_at, back.revoked_at, back.last_used_at),
              std::tie(token.created_at, token.expires_at, token.revoked_at, token.last_used_at));
    ASSERT_EQ(contents.devices.size(), 1u);
    EXPECT_EQ(contents.devices[0].slug, "k-che");
    EXPECT_EQ(contents.devices[0].display_name, "Küche");
    EXPECT_EQ(contents.devices[0].created_at, now);
    EXPECT_EQ(contents.devices[0].last_seen_at, now + 4h);
}

TEST_P(TokenStoreTest, TokensWorkAfterARestartAndRevokedOnesDoNot) {
    std::string good, gone;
    {
        const auto store = open();
        const auto tokens = std::move(trust::Tokens::load(*store, clock).value());
        good = tokens->issue({.name = "phone", .lifetime = 1h}).value().token.reveal();
        gone = tokens->issue({.name = "tablet"}).value().token.reveal();
        ASSERT_TRUE(tokens->prove(good));
        ASSERT_TRUE(tokens->flush());
        ASSERT_EQ(tokens->revoke("tablet").value(), 1);
        ASSERT_TRUE(tokens->rename("phone", "Ann's phone"));
        EXPECT_EQ(tokens->issue({.name = "caller", .roles = {core::Role::kCaller}}).value().slug,
                  "caller");
    }
    const auto store = open();
    const auto tokens = std::move(trust::Tokens::load(*store, clock).value());
    EXPECT_EQ(tokens->prove(good).value().principal->id, "device/phone");
    EXPECT_FALSE(tokens->prove(gone));
    EXPECT_EQ(tokens->devices().at(0).last_seen_at, clock.system_now());
    EXPECT_EQ(tokens->devices().at(0).display_name, "Ann's phone");
    EXPECT_EQ(tokens->list().size(), 3u);
    clock.advance(1h);
    EXPECT_FALSE(tokens->prove(good));
}

TEST_P(TokenStoreTest, ATokenThatCannotBeInsertedLeavesNoDevice) {
    const auto store = open();
    const trust::TokenRecord token{.id = "0a1b2c3d",
                                   .hash_hex = std::string(64, 'a'),
                                   .name = "phone",
                                   .device = "phone",
                                   .roles = {core::Role::kDevice}};
    ASSERT_TRUE(store->insert(token, trust::DeviceRecord{.slug = "phone"}));
    trust::TokenRecord other = token;
    other.device = "tablet";  // the same id again
    EXPECT_FALSE(store->insert(other, trust::DeviceRecord{.slug = "tablet"}));
    EXPECT_EQ(store->load_all().value().devices.size(), 1u);
    other.id = "99999999";
    other.hash_hex = std::string(64, 'b');
    EXPECT_FALSE(store->insert(other, std::nullopt)) << "a token of an unknown device";
}

CRAB_EACH_ENGINE(TokenStoreTest);

}  // namespace
}  // namespace crab::store
