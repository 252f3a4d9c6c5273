#include "store/sqlite/stores_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "core/ledger/ledger_store.hpp"
#include "hosts/memory/memory_store.hpp"

#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

TEST(StoresSqliteTest, SaysWhichOfItsFilesAreThere) {
    const TestFolder folder;
    EXPECT_EQ(StoresSqlite::files_in(folder.path()), std::vector<std::string>{});
    EXPECT_EQ(StoresSqlite::files_in(folder.path() / "nowhere"), std::vector<std::string>{});
    StoresSqlite stores(folder.path());
    ASSERT_TRUE(stores.open_memory());
    ASSERT_TRUE(stores.open_ledger());
    EXPECT_EQ(StoresSqlite::files_in(folder.path()),
              (std::vector<std::string>{"ledger.db", "memory.db"}));
}

}  // namespace
}  // namespace crab::store::sqlite
