#include "console/passkey_store.hpp"

#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

SystemTime at_hour(int hour) { return SystemTime(std::chrono::hours(500'000 + hour)); }

console::StoredPasskey passkey(std::string id, std::string credential, int hour) {
    return {.id = std::move(id),
            .credential = std::move(credential),
            .rp_id = "home.example",
            .label = "my \xc3\xbc phone",
            .sign_count = 0,
            .created_at = at_hour(hour),
            .used_at = {}};
}

using PasskeyStoreTest = StoreSuite;

TEST_P(PasskeyStoreTest, PasskeysComeBackAsTheyWereAndGo) {
    auto store = engine().stores().open_passkeys().value();
    ASSERT_TRUE(store->insert(passkey("later", "0000000b", 2)));
    ASSERT_TRUE(store->insert(passkey("first", "0000000a", 1)));
    EXPECT_EQ(store->insert(passkey("first", "0000000c", 3)).error().code, ErrorCode::kConflict);
    EXPECT_EQ(store->insert(passkey("other", "0000000a", 3)).error().code, ErrorCode::kConflict);
    store.reset();

    store = engine().stores().open_passkeys().value();
    const auto all = store->list();
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 2u);
    EXPECT_EQ(all->front().id, "first");
    const auto found = store->find("later");
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->credential, "0000000b");
    EXPECT_EQ((*found)->rp_id, "home.example");
    EXPECT_EQ((*found)->label, "my \xc3\xbc phone");
    EXPECT_EQ((*found)->sign_count, 0u);
    EXPECT_EQ((*found)->created_at, at_hour(2));
    EXPECT_EQ((*found)->used_at, std::nullopt);
    ASSERT_TRUE(store->remove("later"));
    EXPECT_EQ(store->find("later").value(), std::nullopt);
}

TEST_P(PasskeyStoreTest, ACountOnlyGrowsOrIsNoneAtAll) {
    auto store = engine().stores().open_passkeys().value();
    ASSERT_TRUE(store->insert(passkey("a", "0000000a", 1)));
    EXPECT_EQ(store->record_use("nobody", 1, at_hour(2)), false);
    EXPECT_EQ(store->record_use("a", 0, at_hour(2)), true);
    EXPECT_EQ(store->record_use("a", 0, at_hour(3)), true) << "many never count";
    EXPECT_EQ(store->record_use("a", 0xffff'fffe, at_hour(4)), true);
    EXPECT_EQ(store->record_use("a", 0xffff'fffe, at_hour(5)), false);
    EXPECT_EQ(store->record_use("a", 7, at_hour(5)), false);
    EXPECT_EQ(store->record_use("a", 0, at_hour(5)), false) << "it has counted before";
    const auto found = store->find("a").value();
    EXPECT_EQ(found->sign_count, 0xffff'fffe);
    EXPECT_EQ(found->used_at, at_hour(4));
}

CRAB_EACH_ENGINE(PasskeyStoreTest);

}  // namespace
}  // namespace crab::store
