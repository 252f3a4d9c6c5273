#include "net/http/date_field.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;

TEST(DateFieldTest, FollowsTheClockSecondBySecond) {
    FakeClock clock;
    DateField field(clock);
    EXPECT_EQ(field.line(clock.steady_now()), "Date: Thu, 28 May 2026 20:26:40 GMT\r\n");
    clock.advance(999ms);
    EXPECT_EQ(field.line(clock.steady_now()), "Date: Thu, 28 May 2026 20:26:40 GMT\r\n");
    clock.advance(1ms);
    EXPECT_EQ(field.line(clock.steady_now()), "Date: Thu, 28 May 2026 20:26:41 GMT\r\n");
    clock.advance(24h * 3 + 4h);
    EXPECT_EQ(field.line(clock.steady_now()), "Date: Mon, 01 Jun 2026 00:26:41 GMT\r\n");
    clock.advance(24h * 213 + 999ms);
    EXPECT_EQ(field.line(clock.steady_now()), "Date: Thu, 31 Dec 2026 00:26:41 GMT\r\n");
    clock.advance(1ms);
    EXPECT_EQ(field.line(clock.steady_now()), "Date: Thu, 31 Dec 2026 00:26:42 GMT\r\n");
}

}  // namespace
}  // namespace crab::net
