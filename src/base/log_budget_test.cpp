#include "base/log_budget.hpp"

#include <gtest/gtest.h>

namespace crab::log {
namespace {

using namespace std::chrono_literals;

TEST(LogBudget, WritesSoManyAMinuteAndThenSaysHowManyItLeftOut) {
    Budget budget(2);
    const SteadyTime start{};
    EXPECT_EQ(budget.take(start), 0u);
    EXPECT_EQ(budget.take(start + 1s), 0u);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(budget.take(start + 2s), std::nullopt);
    EXPECT_EQ(budget.take(start + 59s), std::nullopt);
    EXPECT_EQ(budget.take(start + 60s), 1001u);
    EXPECT_EQ(budget.take(start + 61s), 0u);
}

}  // namespace
}  // namespace crab::log
