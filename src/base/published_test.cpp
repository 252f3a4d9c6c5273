#include "base/published.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(Published, AReaderSeesTheFirstValueAndEveryLaterOne) {
    Published<int> value(std::make_shared<const int>(1));
    Published<int>::Reader reader(value);
    EXPECT_EQ(*reader.get(), 1);
    const auto kept = reader.get();
    value.set(std::make_shared<const int>(2));
    EXPECT_EQ(*reader.get(), 2);
    EXPECT_EQ(*kept, 1);
    EXPECT_EQ(*value.get(), 2);
}

TEST(Published, TheVersionGrowsWithEverySet) {
    Published<int> value(std::make_shared<const int>(1));
    const auto before = value.version();
    value.set(std::make_shared<const int>(1));
    EXPECT_GT(value.version(), before);
}

TEST(Published, ReadersOnOtherThreadsNeverGoBack) {
    Published<int> value(std::make_shared<const int>(0));
    constexpr int kLast = 20'000;
    const auto read = [&] {
        Published<int>::Reader reader(value);
        for (int last = 0; last < kLast;) {
            const int now = *reader.get();
            ASSERT_GE(now, last);
            last = now;
        }
    };
    std::jthread one(read), two(read);
    for (int i = 1; i <= kLast; ++i) value.set(std::make_shared<const int>(i));
}

}  // namespace
}  // namespace crab
