#include "console/login_tries.hpp"

#include "base/test_clock.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::console {
namespace {

using namespace std::chrono_literals;

TEST(LoginTriesTest, TenAMinuteOfOneAddressAndThenTheTimeToWait) {
    FakeClock clock;
    LoginTries tries(clock);
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(tries.count("127.0.0.1")) << i;
        clock.advance(1s);
    }
    const auto refused = tries.count("127.0.0.1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(refused.error().retry_after, 50s);
    EXPECT_TRUE(tries.count("192.0.2.1"));
    clock.advance(50s);  // what was refused did not count
    EXPECT_TRUE(tries.count("127.0.0.1"));
    EXPECT_FALSE(tries.count("127.0.0.1"));
}

TEST(LoginTriesTest, AFloodOfAddressesKeepsNobodyOut) {
    FakeClock clock;
    LoginTries tries(clock, {.per_minute = 2, .remembered = 3});
    EXPECT_TRUE(tries.count("192.0.2.1"));
    EXPECT_TRUE(tries.count("192.0.2.1"));
    EXPECT_FALSE(tries.count("192.0.2.1"));
    EXPECT_TRUE(tries.count("192.0.2.2"));
    EXPECT_TRUE(tries.count("192.0.2.3"));
    EXPECT_TRUE(tries.count("192.0.2.1")) << "its oldest try is forgotten";
    for (int i = 4; i < 100; ++i) {
        clock.advance(1s);
        EXPECT_TRUE(tries.count(fmt::format("192.0.2.{}", i)));
    }
}

TEST(LoginTriesTest, OneKeyMayHaveALimitOfItsOwn) {
    FakeClock clock;
    LoginTries tries(clock, {.per_minute = 1});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(tries.count("proxy", 3));
    EXPECT_FALSE(tries.count("proxy", 3));
    EXPECT_TRUE(tries.count("192.0.2.1"));
    EXPECT_FALSE(tries.count("192.0.2.1"));
}

}  // namespace
}  // namespace crab::console
