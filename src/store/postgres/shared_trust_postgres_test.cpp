#include "store/postgres/shared_trust_postgres.hpp"

#include "store/postgres/change_table_postgres.hpp"
#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"
#include "store/postgres/token_store_postgres.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

namespace crab::store::postgres {
namespace {

using namespace std::chrono_literals;
using trust::CodeShelf;

constexpr int kWrongTries = 5;

/// Two nodes, as far as trust goes.
struct SharedTrustTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
        ASSERT_TRUE(StoresPostgres::open({.database = options, .fleet = "harbour"}));
        one.emplace(options);
        two.emplace(options);
        changes.emplace(options);
    }
    static CodeShelf::NewCode code(std::string id, Milliseconds lifetime = 5min) {
        trust::PairingOffer offer{.name = "Kitchen tablet",
                                  .tenants = {TenantId("harbour")},
                                  .lifetime = 1h,
                                  .device = "kitchen"};
        return {.id = id, .form = "form of " + id, .offer = std::move(offer), .lifetime = lifetime};
    }
    static std::vector<std::string> form(const std::string& id) {
        return {"of a newer key", "form of " + id};
    }
    static ErrorCode refusal(SharedTrustPostgres& node, const std::string& id) {
        const auto taken = node.take(form(id), kWrongTries);
        return taken ? ErrorCode::kInternal : taken.error().code;
    }
    std::int64_t changed(const std::string& what) { return changes->read().value().at(what); }

    ConnectionOptions options;
    std::optional<SharedTrustPostgres> one, two;
    std::optional<ChangeTablePostgres> changes;
};

TEST_F(SharedTrustTest, ACodeOfOneNodeIsTakenAtAnotherOnceWithAllThatItOffers) {
    ASSERT_TRUE(one->open(code("a"), 32));
    const auto taken = two->take(form("a"), kWrongTries);
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->id, "a");
    EXPECT_EQ(taken->offer.name, "Kitchen tablet");
    EXPECT_EQ(taken->offer.tenants, std::vector{TenantId("harbour")});
    EXPECT_EQ(taken->offer.lifetime, 1h);
    EXPECT_EQ(taken->offer.device, "kitchen");
    EXPECT_TRUE(taken->offer.roles.has(core::Role::kDevice));
    EXPECT_EQ(refusal(*one, "a"), ErrorCode::kNotFound) << "no code is open";
    ASSERT_TRUE(two->settle(*taken, "kitchen"));
    const auto recent = one->recent().value();
    ASSERT_EQ(recent.size(), 1u);
    EXPECT_EQ(recent[0].state, "paired");
    EXPECT_EQ(recent[0].device, "kitchen");
}

TEST_F(SharedTrustTest, OfManyWhoBringACodeAtOnceOneGetsIt) {
    for (int round = 0; round < 20; ++round) {
        const std::string id = std::to_string(round);
        ASSERT_TRUE(one->open(code(id), 32));
        std::atomic<int> taken{0};
        const auto bring = [&](SharedTrustPostgres& node) {
            const auto got = node.take(form(id), kWrongTries);
            if (got) ++taken;
        };
        std::thread other([&] { bring(*two); });
        bring(*one);
        other.join();
        EXPECT_EQ(taken, 1);
    }
}

TEST_F(SharedTrustTest, ACodeWithoutATokenIsOpenAgain) {
    ASSERT_TRUE(one->open(code("a"), 32));
    const auto taken = one->take(form("a"), kWrongTries);
    ASSERT_TRUE(taken);
    ASSERT_TRUE(one->settle(*taken, std::nullopt));
    EXPECT_TRUE(two->take(form("a"), kWrongTries));
}

TEST_F(SharedTrustTest, FiveWrongTriesOverTheNodesEndAllCodes) {
    ASSERT_TRUE(one->open(code("a"), 32));
    ASSERT_TRUE(two->open(code("b"), 32));
    for (int i = 0; i < kWrongTries; ++i)
        EXPECT_EQ(refusal(i % 2 == 0 ? *one : *two, "wrong"), ErrorCode::kForbidden);
    EXPECT_EQ(refusal(*one, "b"), ErrorCode::kNotFound);
    EXPECT_EQ(refusal(*two, "a"), ErrorCode::kNotFound);
    for (const auto& each : one->recent().value()) EXPECT_EQ(each.state, "ended") << each.id;
}

TEST_F(SharedTrustTest, CodesExpireAndAreLimitedAndEnded) {
    ASSERT_TRUE(one->open(code("short", 1ms), 1));
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(one->recent().value().at(0).state, "expired");
    EXPECT_EQ(refusal(*two, "short"), ErrorCode::kNotFound);
    ASSERT_TRUE(one->open(code("a"), 1));
    const auto refused = two->open(code("b"), 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    EXPECT_GT(refused.error().retry_after, 4min);
    EXPECT_TRUE(two->end("a"));
    EXPECT_EQ(one->end("a").error().code, ErrorCode::kNotFound);
}

TEST_F(SharedTrustTest, OnlyADevicesOpenCodeIsVouchedFor) {
    ASSERT_TRUE(one->open(code("a"), 32));
    auto callers = code("b");
    callers.offer.roles = core::Roles{core::Role::kCaller};
    ASSERT_TRUE(one->open(std::move(callers), 32));
    EXPECT_TRUE(two->vouch(form("a"), "its key"));
    EXPECT_EQ(two->vouch(form("b"), "its key").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(two->vouch(form("c"), "its key").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(one->take(form("a"), kWrongTries)->vouched_key, "its key");
}

TEST_F(SharedTrustTest, AChallengeIsUsedUpOnceOverAllNodes) {
    EXPECT_TRUE(one->use_up("nonce").value());
    EXPECT_FALSE(two->use_up("nonce").value());
    EXPECT_FALSE(one->use_up("nonce").value());
    EXPECT_TRUE(two->use_up("another").value());
}

TEST_F(SharedTrustTest, SessionsOfKeysAreReadElsewhereAndTheLatestOfAKeyStay) {
    const SystemTime until = std::chrono::floor<Milliseconds>(RealClock().system_now()) + 1h;
    const auto add = [&](std::string hash, std::string key, SystemTime expires_at) {
        ASSERT_TRUE(one->add_session({.hash_hex = std::string(62, '0') + std::move(hash),
                                      .key_id = std::move(key),
                                      .expires_at = expires_at},
                                     2));
    };
    const std::int64_t before = changed("session");
    add("01", "key", until);
    add("02", "key", until);
    add("03", "other", until);
    EXPECT_EQ(changed("session"), before + 3);
    EXPECT_EQ(two->new_sessions().value().size(), 3u);
    add("04", "key", until);
    add("05", "third", until - 2h);
    const auto now = two->new_sessions().value();
    const auto has = [&](std::string_view end) {
        return std::ranges::any_of(
            now, [&](const auto& session) { return session.hash_hex.ends_with(end); });
    };
    EXPECT_TRUE(has("04"));
    EXPECT_FALSE(has("01")) << "two of a key are the most";
    EXPECT_FALSE(has("05")) << "it has expired";
    EXPECT_EQ(now.front().expires_at, until);
}

TEST_F(SharedTrustTest, ASecretIsThatOfWhoCameFirst) {
    const auto sealed = [this] { return one->find_secret("gateway").value().value().sealed; };
    EXPECT_FALSE(one->find_secret("gateway").value());
    EXPECT_EQ(one->share_secret("gateway", {"first", "1"}).value().sealed, "first");
    const auto told = two->share_secret("gateway", {"second", "2"}).value();
    EXPECT_EQ(told.sealed, "first");
    EXPECT_EQ(told.digest, "1");
    ASSERT_TRUE(two->replace_secret("gateway", "another", "wrong"));
    EXPECT_EQ(sealed(), "first");
    ASSERT_TRUE(two->replace_secret("gateway", "first", "sealed anew"));
    EXPECT_EQ(sealed(), "sealed anew");
}

trust::TokenRecord token(std::string id, std::string caller, std::string name) {
    return {.id = id,
            .hash_hex = std::string(56, 'a') + id,
            .name = std::move(name),
            .device = {},
            .caller = std::move(caller),
            .roles = core::Roles{core::Role::kCaller},
            .tenants = {TenantId("default")},
            .created_at = SystemTime(1s),
            .expires_at = {},
            .revoked_at = {},
            .last_used_at = {},
            .public_key = {}};
}

TEST_F(SharedTrustTest, WhatIsGrantedAndRevokedIsCountedAndToldAndUsesAreNotCounted) {
    int told = 0;
    options.wrote = [&] { ++told; };
    TokenStorePostgres tokens(options);
    const std::int64_t before = changed("token");
    ASSERT_TRUE(tokens.insert(token("00000001", "ann", "Ann"), std::nullopt));
    EXPECT_EQ(changed("token"), before + 1);
    EXPECT_EQ(told, 1);
    const std::vector<trust::TokenUse> used{{.token_id = "00000001", .at = SystemTime(2s)}};
    ASSERT_TRUE(tokens.record_uses(used));
    EXPECT_EQ(changed("token"), before + 1);
    const std::vector<std::string> ids{"00000001"};
    ASSERT_TRUE(tokens.revoke(ids, SystemTime(3s)));
    EXPECT_EQ(changed("token"), before + 2);
    EXPECT_GE(told, 2);
    ASSERT_TRUE(tokens.load_all());
    const int so_far = told;
    ASSERT_TRUE(tokens.load_all());
    EXPECT_EQ(told, so_far) << "reading tells nobody";
}

TEST_F(SharedTrustTest, NoTwoNodesGiveOneSlugToTwoNames) {
    TokenStorePostgres here(options), there(options);
    ASSERT_TRUE(here.insert(token("00000001", "ann-b", "Ann B"), std::nullopt));
    const auto refused = there.insert(token("00000002", "ann-b", "Ann-B"), std::nullopt);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(there.insert(token("00000003", "ann-b", "Ann B"), std::nullopt));
    const trust::DeviceRecord device{
        .slug = "phone", .display_name = "Phone", .created_at = SystemTime(1s), .last_seen_at = {}};
    auto of_device = token("00000004", "", "Phone");
    of_device.device = "phone";
    ASSERT_TRUE(here.insert(of_device, device));
    of_device.id = "00000005";
    of_device.hash_hex = std::string(56, 'a') + of_device.id;
    EXPECT_EQ(there.insert(of_device, device).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(there.insert(of_device, std::nullopt)) << "a further one of the same device";
}

}  // namespace
}  // namespace crab::store::postgres
