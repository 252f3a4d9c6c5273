#include "store/sqlite/device_tool_store_sqlite.hpp"

#include "base/process/test_folder.hpp"

#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

using trust::DeviceToolRecord;

TEST(DeviceToolStoreSqlite, NamesComeBackAsTheyWereLastPut) {
    const TestFolder folder;
    auto store = std::move(DeviceToolStoreSqlite::open(folder / "trust.db").value());
    const std::vector<DeviceToolRecord> first{
        {.device = "phone", .tool = "camera", .waiting = false},
        {.device = "phone", .tool = "sms", .waiting = true}};
    ASSERT_TRUE(store->put(first));
    EXPECT_EQ(store->load().value(), first);
    const std::vector<DeviceToolRecord> changed{
        {.device = "phone", .tool = "sms", .waiting = false}};
    ASSERT_TRUE(store->put(changed));
    store = std::move(DeviceToolStoreSqlite::open(folder / "trust.db").value());
    EXPECT_EQ(store->load().value()[1], changed[0]);
}

}  // namespace
}  // namespace crab::store::sqlite
