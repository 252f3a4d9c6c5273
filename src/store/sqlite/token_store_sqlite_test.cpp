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
