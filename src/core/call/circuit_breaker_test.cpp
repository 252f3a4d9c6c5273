#include "core/call/circuit_breaker.hpp"

#include "base/test_clock.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

class HostBreakerTest : public testing::Test {
protected:
    void fail(int times) {
        for (int i = 0; i < times; ++i) breaker.on_failure(clock.steady_now());
    }
    std::optional<CircuitBreaker::Pass> admit() { return breaker.admit(clock.steady_now()); }
    /// By a call that hangs from now on.
    bool admits() {
        auto pass = admit();
        if (pass) hanging.push_back(std::move(*pass));
        return pass.has_value();
    }

    FakeClock clock;
    CircuitBreaker breaker;
    std::vector<CircuitBreaker::Pass> hanging;
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

TEST_F(HostBreakerTest, ATryThatHangsIsFollowedByAnotherAfterThePause) {
    fail(3);
    clock.advance(1s);
    EXPECT_TRUE(admits());
    clock.advance(999ms);
    EXPECT_FALSE(admits());
    clock.advance(1ms);
    EXPECT_TRUE(admits());
}

TEST_F(HostBreakerTest, ATryThatSaysNothingLeavesItToTheNextCall) {
    fail(3);
    clock.advance(1s);
    for (int i = 0; i < 3; ++i) {
        const auto trial = admit();
        EXPECT_TRUE(trial) << i;
        EXPECT_FALSE(admit()) << "one at a time";
    }
    auto trial = admit();
    ASSERT_TRUE(trial);
    trial->failed(clock.steady_now());
    trial.reset();
    clock.advance(1999ms);
    EXPECT_FALSE(admit()) << "a failure is no end of nothing";
    clock.advance(1ms);
    trial = std::nullopt;
    auto good = admit();
    ASSERT_TRUE(good);
    good->succeeded();
    EXPECT_TRUE(admits());
    EXPECT_FALSE(breaker.is_open());
}

TEST_F(HostBreakerTest, OnlyTheTryEndsThePauseEarly) {
    auto before = admit();
    auto other = admit();
    fail(3);
    before.reset();  // nothing is known of it, and it was no try
    EXPECT_FALSE(admit());
    clock.advance(1s);
    auto trial = admit();
    ASSERT_TRUE(trial);
    clock.advance(500ms);
    other->failed(clock.steady_now());
    trial.reset();
    EXPECT_FALSE(admit()) << "a later failure has begun a pause of its own";
}

}  // namespace
}  // namespace crab::core
