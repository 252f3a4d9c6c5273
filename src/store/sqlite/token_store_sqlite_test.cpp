#include "store/sqlite/token_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "base/test_clock.hpp"
#include "crypto/digest.hpp"
#include "trust/tokens.hpp"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;

/// As it was before callers had stored slugs and tokens had tenants.
constexpr std::array<std::string_view, 2> kOldSchema{
    R"(
    CREATE TABLE device (slug TEXT PRIMARY KEY, display_name TEXT NOT NULL,)"
    R"( created_ms INTEGER NOT NULL, last_seen_ms INTEGER) STRICT;
    CREATE TABLE token (id TEXT PRIMARY KEY, hash_hex TEXT NOT NULL UNIQUE, name TEXT NOT NULL,)"
    R"( device TEXT REFERENCES device (slug), roles TEXT NOT NULL,
        tenant TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER, revoked_ms INTEGER,)"
    R"( last_used_ms INTEGER) STRICT;
)",
    R"(ALTER TABLE token ADD COLUMN public_key TEXT;)"};

class TokenStoreSqliteTest : public testing::Test {
protected:
    std::unique_ptr<TokenStoreSqlite> open(DatabaseOptions options = {}) {
        return std::move(TokenStoreSqlite::open(folder / "trust.db", options).value());
    }

    TestFolder folder;
    FakeClock clock;
};

TEST_F(TokenStoreSqliteTest, EveryFieldSurvives) {
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

TEST_F(TokenStoreSqliteTest, TokensWorkAfterARestartAndRevokedOnesDoNot) {
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

TEST_F(TokenStoreSqliteTest, AStoreOfBeforeKeepsItsTokensAndGetsTenantsAndCallersOfTheirOwn) {
    {
        auto old = std::move(Database::open(folder / "trust.db", {}).value());
        ASSERT_TRUE(old.migrate("tokens", std::span(kOldSchema)));
        for (const auto& [id, letter, name, tenant] :
             {std::tuple{"00000001", 'a', "CI", ""}, std::tuple{"00000002", 'b', "ci!", "home"}}) {
            ASSERT_TRUE(old.run(
                "INSERT INTO token (id, hash_hex, name, roles, tenant, created_ms) VALUES (?, ?, "
                "?, 'caller', ?, ?)",
                id, crypto::sha256_hex(std::string(64, letter)), name, tenant, clock.system_now()));
        }
    }
    for (int life = 0; life < 2; ++life) {
        const auto store = open();
        const auto tokens = std::move(trust::Tokens::load(*store, clock).value());
        const auto first = tokens->prove(std::string(64, 'a')).value().principal,
                   second = tokens->prove(std::string(64, 'b')).value().principal;
        EXPECT_EQ(std::tie(first->id, first->tenant), std::tuple("caller/ci", TenantId("default")));
        EXPECT_EQ(std::tie(second->id, second->tenant),
                  std::tuple("caller/ci-2", TenantId("home")));
        EXPECT_EQ(store->load_all().value().tokens[1].caller, "ci-2");
    }
}

TEST_F(TokenStoreSqliteTest, ATokenThatCannotBeInsertedLeavesNoDevice) {
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

TEST_F(TokenStoreSqliteTest, AFullDiskIssuesNoToken) {
    const auto store = open({.max_pages = 12});
    const auto tokens = std::move(trust::Tokens::load(*store, clock).value());
    int issued = 0;
    Result<trust::IssuedToken> answer = fail(ErrorCode::kInternal, "");
    while (
        (answer = tokens->issue({.name = std::string(120, 'n'), .roles = {core::Role::kCaller}})))
        ++issued;
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_GT(issued, 0);
    EXPECT_EQ(store->load_all().value().tokens.size(), static_cast<std::size_t>(issued));
    EXPECT_EQ(tokens->list().size(), static_cast<std::size_t>(issued));
}

}  // namespace
}  // namespace crab::store::sqlite
