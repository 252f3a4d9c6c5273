#include "trust/device_tool_store.hpp"
#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using trust::DeviceToolRecord;

using DeviceToolStoreTest = StoreSuite;

TEST_P(DeviceToolStoreTest, NamesComeBackAsTheyWereLastPut) {
    auto store = engine().trust().open_device_tools().value();
    const std::vector<DeviceToolRecord> first{
        {.device = "phone", .tool = "camera", .waiting = false, .approved = R"({"schema":{}})"},
        {.device = "phone",
         .tool = "sms",
         .waiting = true,
         .offered = R"({"description":"\u00e9"})"}};
    ASSERT_TRUE(store->put(first));
    EXPECT_EQ(store->load().value(), first);
    const std::vector<DeviceToolRecord> changed{
        {.device = "phone", .tool = "sms", .waiting = false, .approved = "a", .offered = "b"}};
    ASSERT_TRUE(store->put(changed));
    store = engine().trust().open_device_tools().value();
    EXPECT_EQ(store->load().value()[1], changed[0]);
}

CRAB_EACH_ENGINE(DeviceToolStoreTest);

}  // namespace
}  // namespace crab::store
