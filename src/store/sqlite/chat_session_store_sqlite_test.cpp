#include "store/sqlite/chat_session_store_sqlite.hpp"

#include "base/process/test_folder.hpp"

#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

TEST(ChatSessionStoreSqliteTest, SessionsSurviveARestart) {
    TestFolder folder;
    const ChatSessionId id("kitchen");
    {
        auto store = std::move(ChatSessionStoreSqlite::open(folder / "chat.db").value());
        ASSERT_TRUE(store->append({.id = id, .owner = "device/phone"},
                                  {.role = "user", .content = "hello"}));
    }
    auto store = std::move(ChatSessionStoreSqlite::open(folder / "chat.db").value());
    EXPECT_EQ(store->find(id).value()->owner, "device/phone");
    EXPECT_EQ(store->messages(id).value().at(0).content, "hello");
}

}  // namespace
}  // namespace crab::store::sqlite
