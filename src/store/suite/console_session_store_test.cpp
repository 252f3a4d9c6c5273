#include "console/session_store.hpp"
#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

console::StoredSession session(std::uint64_t number, std::string_view secret) {
    return {.cookie = crypto::sha256(secret),
            .key = crypto::sha256("key"),
            .session = {.number = number,
                        .principal = "caller/me",
                        .roles = {core::Role::kOperator, core::Role::kCaller},
                        .credential = "0a1b2c3d",
                        .expires_at = SystemTime(std::chrono::hours(500'000))},
            .used_at = SystemTime(std::chrono::hours(499'990))};
}

using ConsoleSessionStoreTest = StoreSuite;

TEST_P(ConsoleSessionStoreTest, SessionsComeBackAsDigestsAndGoWhenTheyHaveEnded) {
    auto store = engine().stores().open_console_sessions().value();
    ASSERT_TRUE(store->insert(session(4, "a")));
    ASSERT_TRUE(store->insert(session(7, "b")));
    EXPECT_FALSE(store->insert(session(7, "c"))) << "a number comes once";
    EXPECT_FALSE(store->insert(session(8, "a"))) << "so does a cookie";
    const SystemTime used(std::chrono::hours(499'995));
    ASSERT_TRUE(store->record_uses(std::vector<console::SessionUse>{{7, used}, {9, used}}));
    ASSERT_TRUE(store->remove(std::vector<std::uint64_t>{4, 5}));
    store.reset();

    store = engine().stores().open_console_sessions().value();
    const auto loaded = store->load_all();
    ASSERT_TRUE(loaded);
    ASSERT_EQ(loaded->size(), 1u);
    const console::StoredSession& found = loaded->front();
    EXPECT_EQ(found.cookie, crypto::sha256("b"));
    EXPECT_EQ(found.key, crypto::sha256("key"));
    EXPECT_EQ(found.session.number, 7u);
    EXPECT_EQ(found.session.principal, "caller/me");
    EXPECT_EQ(found.session.roles, (core::Roles{core::Role::kOperator, core::Role::kCaller}));
    EXPECT_EQ(found.session.credential, "0a1b2c3d");
    EXPECT_EQ(found.session.expires_at, session(7, "b").session.expires_at);
    EXPECT_EQ(found.used_at, used);
}

CRAB_EACH_ENGINE(ConsoleSessionStoreTest);

}  // namespace
}  // namespace crab::store
