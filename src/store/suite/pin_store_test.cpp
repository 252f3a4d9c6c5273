#include "trust/pin_store.hpp"
#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using trust::Pin;

using PinStoreTest = StoreSuite;

TEST_P(PinStoreTest, PinsOfASourceComeBackAsTheyWereLastPut) {
    auto store = engine().trust().open_pins().value();
    const std::vector<Pin> first{{"files", "instructions", "", "d0", "be kind"},
                                 {"files", "tool", "read", "d1", "{}"},
                                 {"other", "tool", "read", "d2", ""}};
    ASSERT_TRUE(store->put(first));
    EXPECT_EQ(store->load("files").value(), std::vector<Pin>(first.begin(), first.begin() + 2));
    const std::vector<Pin> changed{{"files", "tool", "read", "d3", "new"}};
    ASSERT_TRUE(store->put(changed));
    store = engine().trust().open_pins().value();
    EXPECT_EQ(store->load("files").value()[1], changed[0]);
    EXPECT_EQ(store->load("other").value()[0], first[2]);
    EXPECT_TRUE(store->load("none").value().empty());
}

CRAB_EACH_ENGINE(PinStoreTest);

}  // namespace
}  // namespace crab::store
