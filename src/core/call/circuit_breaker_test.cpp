#include "core/call/circuit_breaker.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

class HostBreakerTest : public testing::Test {
protected:
    void fail(int times) {
        for (int i = 0; i < times; ++i) breaker.on_failure(clock.steady_now());
    }
    bool admits() { return breaker.admits(clock.steady_now()); }

    FakeClock clock;
    CircuitBreaker breaker;
};

TEST_F(HostBreakerTest, TwoFailuresChangeNothingAndASuccessForgetsThem) {
    fail(2);
    EXPECT_TRUE(admits());
    breaker.on_success();
    fail(2);
    EXPECT_TRUE(admits());
    EXPECT_FALSE(breaker.is_open());
}

TEST_F(HostBreakerTest, AfterThreeFailuresCallsFailUntilThePauseIsOver) {
    fail(3);
    EXPECT_FALSE(admits());
    clock.advance(999ms);
    EXPECT_FALSE(admits());
    clock.advance(1ms);
    EXPECT_TRUE(admits());
}

TEST_F(HostBreakerTest, OneCallTriesWhileTheOthersStillFail) {
    fail(3);
    clock.advance(1s);
    EXPECT_TRUE(admits());
    EXPECT_FALSE(admits());
    breaker.on_success();
    EXPECT_TRUE(admits());
    EXPECT_TRUE(admits());
}

TEST_F(HostBreakerTest, PausesDoubleUpToAMinute) {
    fail(3);
    for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        clock.advance(pause - 1ms);
        EXPECT_FALSE(admits()) << pause.count();
        clock.advance(1ms);
        EXPECT_TRUE(admits()) << pause.count();
        fail(1);
    }
}

TEST_F(HostBreakerTest, ATryThatSaysNothingIsFollowedByAnother) {
    fail(3);
    clock.advance(1s);
    EXPECT_TRUE(admits());  // its caller left: neither success nor failure
    clock.advance(1s);
    EXPECT_TRUE(admits());
}

}  // namespace
}  // namespace crab::core
