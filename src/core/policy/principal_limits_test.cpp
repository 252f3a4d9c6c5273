#include "core/policy/principal_limits.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

TEST(PrincipalLimitsTest, EachHasSoManyAtTheSameTime) {
    PrincipalLimits limits(2);
    auto first = limits.take("ann");
    const auto second = limits.take("ann"), other = limits.take("bob");
    ASSERT_TRUE(first && second && other);
    EXPECT_FALSE(limits.take("ann"));
    EXPECT_EQ(limits.count("ann"), 2u);
    first.reset();
    EXPECT_TRUE(limits.take("ann"));
    EXPECT_EQ(limits.count("ann"), 1u);
    EXPECT_EQ(limits.count("nobody"), 0u);
}

}  // namespace
}  // namespace crab::core
