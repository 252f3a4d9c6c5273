#include "console/one_time_codes.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::console {
namespace {

using namespace std::chrono_literals;

class OneTimeCodesTest : public testing::Test {
protected:
    FakeClock clock;
    crypto::SystemRandom random;
    OneTimeCodes codes{clock, random, {.lifetime = 60s, .max_open = 2}};
};

TEST_F(OneTimeCodesTest, ACodeIsGoodOnce) {
    const std::string code = codes.open().reveal();
    EXPECT_EQ(code.size(), 43u);
    EXPECT_TRUE(codes.redeem(code));
    EXPECT_FALSE(codes.redeem(code));
}

TEST_F(OneTimeCodesTest, ACodeIsGoodForAMinute) {
    const std::string early = codes.open().reveal(), late = codes.open().reveal();
    clock.advance(59'999ms);
    EXPECT_TRUE(codes.redeem(early));
    clock.advance(1ms);
    EXPECT_FALSE(codes.redeem(late));
}

TEST_F(OneTimeCodesTest, AWrongCodeChangesNothing) {
    const std::string code = codes.open().reveal();
    for (const std::string& wrong :
         {std::string(), code.substr(1), code + "A", std::string(1 << 20, 'A')})
        EXPECT_FALSE(codes.redeem(wrong));
    EXPECT_TRUE(codes.redeem(code));
}

TEST_F(OneTimeCodesTest, TheOldestIsGoodNoMoreWhenTooManyAreOpen) {
    const std::string first = codes.open().reveal(), second = codes.open().reveal(),
                      third = codes.open().reveal();
    EXPECT_FALSE(codes.redeem(first));
    EXPECT_TRUE(codes.redeem(second));
    EXPECT_TRUE(codes.redeem(third));
}

}  // namespace
}  // namespace crab::console
