#include "base/task/run_within.hpp"

#include "base/task/test_loop.hpp"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

TEST(RunWithin, ADeadlineEndsTheWaitForWorkThatHangsAndSaysWhatMayComeOfIt) {
    TestLoop loop;
    BlockingPool pool(1);
    std::promise<void> begun, go_on;
    std::atomic<int> done = 0;
    const auto hang = [&, held = go_on.get_future().share()]() -> Result<int> {
        begun.set_value();
        held.wait();
        return ++done;
    };
    const auto count = [&]() -> Result<int> { return ++done; };
    const auto hanging = loop.start(run_within(pool, hang, loop.timers, loop.in(1s)));
    begun.get_future().wait();
    const auto behind = loop.start(run_within(pool, count, loop.timers, loop.in(1s)));
    const auto cancelled = loop.start(run_within(pool, count, loop.timers, loop.in(9s)));
    const auto patient = loop.start(run_within(pool, count, loop.timers, loop.in(9s)));
    loop.advance(2s);
    loop.cancel(*cancelled);
    ASSERT_TRUE(hanging->ended() && behind->ended() && cancelled->ended());
    EXPECT_EQ(hanging->get().error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(hanging->get().error().message.contains("may still take effect"));
    EXPECT_EQ(behind->get().error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(behind->get().error().message.contains("nothing has changed"));
    EXPECT_EQ(cancelled->get().error().code, ErrorCode::kCancelled);
    EXPECT_FALSE(patient->ended());
    go_on.set_value();
    ASSERT_TRUE(loop.run_until([&] { return patient->ended(); }));
    EXPECT_EQ(patient->get(), 2) << "the hanging one was done, the two that were given up were not";
}

}  // namespace
}  // namespace crab
