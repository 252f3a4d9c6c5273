#include "base/process/memory_trim.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <malloc.h>

namespace crab {
namespace {

TEST(MemoryTrimTest, GivesBackWhatABurstHasLeftAndThenLeavesItBe) {
    MemoryTrim trim;
    (void)trim.run();
    {
        std::vector<std::unique_ptr<char[]>> burst;
        // touched
        for (int i = 0; i < 4'000; ++i) burst.push_back(std::make_unique<char[]>(32 * 1024));
        burst.push_back(nullptr);
        // keeps the top of the heap from being given back by itself
        const auto last = std::make_unique<char[]>(64);
        std::swap(burst.front(), burst.back());
    }
    if (::mallinfo2().uordblks == 0) GTEST_SKIP() << "this allocator is another";
    (void)trim.run();
    EXPECT_FALSE(trim.run()) << "nothing is left that is worth it";
}

}  // namespace
}  // namespace crab
