#include "base/change_signal.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace crab {
namespace {

TEST(ChangeSignalTest, EachWatcherIsToldUntilItsWatchEnds) {
    ChangeSignal signal;
    int first = 0, second = 0;
    std::optional<ChangeSignal::Watch> watch = signal.watch([&] { ++first; });
    const ChangeSignal::Watch other = signal.watch([&] { ++second; });
    signal.notify();
    ChangeSignal::Watch moved = std::move(*watch);
    watch.reset();
    signal.notify();
    moved = {};
    signal.notify();
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 3);
}

TEST(ChangeSignalTest, AWatchMayOutliveItsSignal) {
    std::optional<ChangeSignal> signal(std::in_place);
    const ChangeSignal::Watch watch = signal->watch([] {});
    signal.reset();
}

}  // namespace
}  // namespace crab
