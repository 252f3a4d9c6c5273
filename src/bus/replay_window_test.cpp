#include "bus/replay_window.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace crab::bus {
namespace {

TEST(ReplayWindowTest, TakesEachNumberOnceInAnyOrder) {
    ReplayWindow window;
    EXPECT_TRUE(window.take(3));
    EXPECT_TRUE(window.take(1));
    EXPECT_FALSE(window.take(3));
    EXPECT_FALSE(window.take(1));
    EXPECT_TRUE(window.take(2));
    EXPECT_FALSE(window.take(0));
}

TEST(ReplayWindowTest, RefusesWhatIsOlderThanItRemembers) {
    ReplayWindow window;
    EXPECT_TRUE(window.take(5'000));
    EXPECT_FALSE(window.take(5'000 - ReplayWindow::kSize));
    EXPECT_TRUE(window.take(5'001 - ReplayWindow::kSize));
    EXPECT_TRUE(window.take(UINT64_MAX));
    EXPECT_FALSE(window.take(5'001));
    EXPECT_FALSE(window.take(UINT64_MAX));
}

TEST(ReplayWindowTest, AgreesWithASetOfAllThatCame) {
    std::mt19937_64 random(7);
    ReplayWindow window;
    std::set<std::uint64_t> taken;
    std::uint64_t newest = 0;
    for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t jump = random() % 50 == 0 ? 3'000 : 40;
        const std::uint64_t back = random() % 1'500;
        const std::uint64_t number = newest + random() % jump - std::min(newest, back);
        const bool is_new =
            number > 0 && number + ReplayWindow::kSize > newest && !taken.contains(number);
        ASSERT_EQ(window.take(number), is_new) << number << " after " << newest;
        if (is_new) taken.insert(number);
        newest = std::max(newest, is_new ? number : 0);
    }
}

}  // namespace
}  // namespace crab::bus
