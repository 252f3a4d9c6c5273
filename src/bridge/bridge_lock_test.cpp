#include "bridge/bridge_lock.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace crab::bridge {
namespace {

TEST(BridgeLock, OneBridgeHoldsItAndAskingDoesNotTakeIt) {
    std::string folder = (std::filesystem::temp_directory_path() / "crab-lock-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::filesystem::path file = std::filesystem::path(folder) / "bridge.lock";
    EXPECT_FALSE(is_bridge_locked(file));
    {
        const Descriptor first = take_bridge_lock(file);
        EXPECT_TRUE(first.is_open());
        EXPECT_TRUE(is_bridge_locked(file));
        EXPECT_FALSE(take_bridge_lock(file).is_open());
    }
    EXPECT_FALSE(is_bridge_locked(file));
    EXPECT_TRUE(take_bridge_lock(file).is_open());
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace crab::bridge
