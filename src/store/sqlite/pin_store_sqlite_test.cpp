#include "store/sqlite/pin_store_sqlite.hpp"

#include "base/process/test_folder.hpp"

#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

using trust::Pin;

TEST(PinStoreSqlite, PinsOfASourceComeBackAsTheyWereLastPut) {
    const TestFolder folder;
    auto store = std::move(PinStoreSqlite::open(folder / "trust.db").value());
    const std::vector<Pin> first{{"files", "instructions", "", "d0", "be kind"},
                                 {"files", "tool", "read", "d1", "{}"},
                                 {"other", "tool", "read", "d2", ""}};
    ASSERT_TRUE(store->put(first));
    EXPECT_EQ(store->load("files").value(), std::vector<Pin>(first.begin(), first.begin() + 2));
    const std::vector<Pin> changed{{"files", "tool", "read", "d3", "new"}};
    ASSERT_TRUE(store->put(changed));
    store = std::move(PinStoreSqlite::open(folder / "trust.db").value());
    EXPECT_EQ(store->load("files").value()[1], changed[0]);
    EXPECT_EQ(store->load("other").value()[0], first[2]);
    EXPECT_TRUE(store->load("none").value().empty());
}

}  // namespace
}  // namespace crab::store::sqlite
