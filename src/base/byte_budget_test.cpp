#include "base/byte_budget.hpp"

#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(ByteBudgetTest, WhatIsHeldIsBoundedForOneAndForAll) {
    ByteBudgets budgets(100, 150);
    HeldBytes first(budgets.of("a")), second(budgets.of("a")), third(budgets.of("b"));
    EXPECT_TRUE(first.grow_to(60));
    EXPECT_FALSE(second.grow_to(41));  // of one name
    EXPECT_TRUE(second.grow_to(40));
    EXPECT_FALSE(third.grow_to(51));  // of all
    EXPECT_TRUE(third.grow_to(50));
    EXPECT_EQ(budgets.whole().held(), 150u);
    first.shrink_to(10);
    EXPECT_TRUE(third.grow_to(100));
    EXPECT_FALSE(first.grow_to(11));
}

TEST(ByteBudgetTest, AHolderGivesBackWhatItHadHoweverItEnds) {
    ByteBudgets budgets(100, 100);
    {
        HeldBytes held(budgets.of("a"));
        EXPECT_TRUE(held.grow_to(100));
        HeldBytes moved = std::move(held);
        EXPECT_EQ(moved.bytes(), 100u);
        moved = HeldBytes(budgets.of("b"));
    }
    EXPECT_EQ(budgets.whole().held(), 0u);
    EXPECT_TRUE(HeldBytes(budgets.of("c")).grow_to(100));
}

TEST(ByteBudgetTest, WithoutABudgetNothingIsCounted) {
    HeldBytes held;
    EXPECT_TRUE(held.grow_to(1'000'000'000));
    EXPECT_EQ(held.bytes(), 0u);
}

TEST(ByteBudgetTest, NamesThatNobodyHoldsAreForgotten) {
    ByteBudgets budgets(1, 1);
    for (int i = 0; i < 10'000; ++i) (void)budgets.of(std::to_string(i));
    const auto kept = budgets.of("kept");
    for (int i = 0; i < 10'000; ++i) (void)budgets.of(std::to_string(i));
    EXPECT_EQ(budgets.of("kept"), kept);
}

}  // namespace
}  // namespace crab
