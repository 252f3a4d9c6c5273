#include "base/task/timer_wheel.hpp"

#include "base/test_clock.hpp"

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

struct Alarm final : TimerNode {
    explicit Alarm(std::function<void()> then = {}) : action(std::move(then)) {}
    void on_expired() override {
        ++rung;
        if (action) action();
    }
    std::function<void()> action;
    int rung = 0;
};

struct TimerWheelTest : testing::Test {
    FakeClock clock;
    TimerWheel wheel{clock};

    void pass(std::chrono::nanoseconds span) {
        clock.advance(span);
        wheel.run_expired();
    }
    Deadline in(std::chrono::nanoseconds span) const { return clock.steady_now() + span; }
};

TEST_F(TimerWheelTest, ANodeRingsOnceItsDeadlineHasPassedAndNotBefore) {
    Alarm alarm;
    wheel.arm(alarm, in(10ms));
    pass(9'999'999ns);
    EXPECT_EQ(alarm.rung, 0);
    EXPECT_TRUE(alarm.armed());
    pass(1ns + TimerWheel::kTick);
    EXPECT_EQ(alarm.rung, 1);
    EXPECT_FALSE(alarm.armed());
    pass(1h);
    EXPECT_EQ(alarm.rung, 1);
}

TEST_F(TimerWheelTest, ADeadlineInThePastRingsWithTheNextTick) {
    Alarm alarm;
    pass(1h);
    wheel.arm(alarm, clock.steady_now() - 30min);
    EXPECT_EQ(alarm.rung, 0);
    pass(TimerWheel::kTick);
    EXPECT_EQ(alarm.rung, 1);
}

TEST_F(TimerWheelTest, NoDeadlineMeansNotArmed) {
    Alarm alarm;
    wheel.arm(alarm, in(1s));
    wheel.arm(alarm, kNoDeadline);
    EXPECT_FALSE(alarm.armed());
    EXPECT_EQ(wheel.next_wakeup(), std::nullopt);
}

TEST_F(TimerWheelTest, ArmingAgainMovesTheDeadline) {
    Alarm alarm;
    wheel.arm(alarm, in(10ms));
    wheel.arm(alarm, in(1s));
    pass(500ms);
    EXPECT_EQ(alarm.rung, 0);
    pass(500ms + TimerWheel::kTick);
    EXPECT_EQ(alarm.rung, 1);
}

TEST_F(TimerWheelTest, DeadlinesBeyondSeveralRotationsWaitForTheirOwn) {
    Alarm near, far, farther;
    const auto rotation = TimerWheel::kTick * 4096;
    wheel.arm(near, in(20ms));
    wheel.arm(far, in(20ms + rotation));
    wheel.arm(farther, in(20ms + 5 * rotation));
    pass(30ms);
    EXPECT_EQ(near.rung, 1);
    EXPECT_EQ(far.rung, 0);
    pass(rotation);
    EXPECT_EQ(far.rung, 1);
    EXPECT_EQ(farther.rung, 0);
    pass(3 * rotation);
    EXPECT_EQ(farther.rung, 0);
    pass(rotation);
    EXPECT_EQ(farther.rung, 1);
}

TEST_F(TimerWheelTest, ALongSleepRingsEverythingThatIsDueAndNothingElse) {
    std::list<Alarm> due, later;
    for (int i = 1; i < 9000; ++i) wheel.arm(due.emplace_back(), in(i * 7ms));
    for (int i = 1; i < 900; ++i) wheel.arm(later.emplace_back(), in(72h + i * 3ms));
    pass(70s);
    for (const Alarm& alarm : due) ASSERT_EQ(alarm.rung, 1);
    for (const Alarm& alarm : later) ASSERT_EQ(alarm.rung, 0);
}

TEST_F(TimerWheelTest, ARingingNodeMayArmItselfAgain) {
    Alarm alarm;
    alarm.action = [&] {
        if (alarm.rung < 3) wheel.arm(alarm, in(0ms));
    };
    wheel.arm(alarm, in(4ms));
    for (int i = 0; i < 10; ++i) pass(TimerWheel::kTick);
    EXPECT_EQ(alarm.rung, 3);
}

TEST_F(TimerWheelTest, ARingingNodeMayDisarmAndDestroyItsNeighbours) {
    auto second = std::make_unique<Alarm>();
    Alarm third;
    auto last = std::make_unique<Alarm>();
    int last_rung = 0;
    last->action = [&] { ++last_rung; };
    Alarm first([&] {
        second.reset();
        third.disarm();
    });
    for (Alarm* alarm : {&first, second.get(), &third, last.get()}) wheel.arm(*alarm, in(4ms));
    pass(8ms);
    EXPECT_EQ(first.rung, 1);
    EXPECT_EQ(third.rung, 0);
    EXPECT_EQ(last_rung, 1);
}

TEST_F(TimerWheelTest, ARingingNodeMayDestroyItself) {
    auto alarm = std::make_unique<Alarm>();
    alarm->action = [&] { alarm.reset(); };
    wheel.arm(*alarm, in(4ms));
    Alarm next;
    wheel.arm(next, in(4ms));
    pass(8ms);
    EXPECT_EQ(alarm, nullptr);
    EXPECT_EQ(next.rung, 1);
}

TEST_F(TimerWheelTest, ADestroyedNodeHasLeftTheWheel) {
    {
        Alarm alarm;
        wheel.arm(alarm, in(4ms));
    }
    pass(1s);
    EXPECT_EQ(wheel.next_wakeup(), std::nullopt);
}

TEST(TimerWheel, AWheelMayEndBeforeItsNodes) {
    Alarm alarm;
    {
        FakeClock clock;
        TimerWheel wheel(clock);
        wheel.arm(alarm, clock.steady_now() + 1s);
    }
    EXPECT_FALSE(alarm.armed());
}

TEST_F(TimerWheelTest, TheDriverIsToldOfEarlierDeadlinesOnly) {
    std::vector<Deadline> told;
    wheel.on_earlier_wakeup([&](Deadline at) { told.push_back(at); });
    Alarm first, later, earlier;
    wheel.arm(first, in(100ms));
    wheel.arm(later, in(200ms));
    wheel.arm(earlier, in(40ms));
    EXPECT_EQ(told, (std::vector{in(100ms), in(40ms)}));
    told.clear();
    pass(48ms);
    wheel.arm(earlier, in(400ms));  // after a run, the driver asks next_wakeup() again
    EXPECT_EQ(told.size(), 1u);
}

/// Against a map from nodes to deadlines: who rings when, and that the driver who sleeps until
/// next_wakeup() is never late.
TEST_F(TimerWheelTest, AgreesWithANaiveModelOverRandomDeadlines) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        FakeClock time;
        TimerWheel timers(time);
        std::vector<std::unique_ptr<Alarm>> alarms;
        std::map<const Alarm*, Deadline> model;
        for (int i = 0; i < 64; ++i) {
            auto& alarm = alarms.emplace_back(std::make_unique<Alarm>());
            alarm->action = [&, raw = alarm.get()] {
                const auto it = model.find(raw);
                ASSERT_NE(it, model.end());
                ASSERT_LE(it->second, time.steady_now()) << "early";
                model.erase(it);
            };
        }
        for (int step = 0; step < 3000; ++step) {
            Alarm& alarm = *alarms[random() % alarms.size()];
            switch (random() % 4) {
                case 0:
                case 1: {
                    const std::int64_t most = random() % 5 == 0 ? 200'000'000'000 : 50'000'000;
                    const Deadline at =
                        time.steady_now() +
                        std::chrono::nanoseconds(static_cast<std::int64_t>(random()) % most);
                    timers.arm(alarm, at);
                    model[&alarm] = at;
                    break;
                }
                case 2:
                    alarm.disarm();
                    model.erase(&alarm);
                    break;
                case 3: {
                    const std::int64_t most = random() % 50 == 0 ? 40'000'000'000 : 9'000'000;
                    time.advance(
                        std::chrono::nanoseconds(static_cast<std::int64_t>(random()) % most));
                    timers.run_expired();
                    for (const auto& [node, at] : model)
                        ASSERT_GT(at + TimerWheel::kTick, time.steady_now())
                            << "late by more than a tick";
                    break;
                }
            }
            if (model.empty()) {
                ASSERT_EQ(timers.next_wakeup(), std::nullopt);
                continue;
            }
            const auto earliest = std::ranges::min_element(model, {}, [](const auto& entry) {
                                      return entry.second;
                                  })->second;
            const auto wakeup = timers.next_wakeup();
            ASSERT_TRUE(wakeup);
            ASSERT_LE(*wakeup, std::max(earliest, time.steady_now()) + TimerWheel::kTick);
        }
    }
}

}  // namespace
}  // namespace crab
