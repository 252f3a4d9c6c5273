#include "base/ordered_mutex.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace crab {
namespace {

struct Locks {
    OrderedMutex<LockRank::kTokensWriting> writing;
    OrderedMutex<LockRank::kStore> store;
    OrderedSharedMutex<LockRank::kTokens> index;
};

TEST(OrderedMutexTest, LocksInTheirOrderAndInTurnAreFine) {
    Locks locks;
    for (int i = 0; i < 3; ++i) {
        const std::scoped_lock writing(locks.writing);
        { const std::scoped_lock store(locks.store); }
        { const std::shared_lock reading(locks.index); }
        const std::unique_lock index(locks.index);
    }
}

TEST(OrderedMutexTest, ALockMayBeLetGoBeforeALaterOne) {
    Locks locks;
    std::unique_lock writing(locks.writing);
    const std::scoped_lock index(locks.index);
    writing.unlock();
    std::thread other([&] { const std::scoped_lock again(locks.writing); });
    other.join();
}

TEST(OrderedMutexTest, EachThreadHasItsOwnOrder) {
    Locks locks;
    const std::scoped_lock index(locks.index);
    std::thread other([&] {
        const std::scoped_lock writing(locks.writing);
        const std::scoped_lock store(locks.store);
    });
    other.join();
}

#ifndef NDEBUG
TEST(OrderedMutexDeathTest, ALockOutOfOrderEndsTheProcessWithBothNames) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Locks locks;
    EXPECT_DEATH(
        {
            const std::shared_lock index(locks.index);
            const std::scoped_lock store(locks.store);
        },
        "\"a store\" is taken under \"Tokens\"");
    EXPECT_DEATH(
        {
            const std::scoped_lock writing(locks.writing);
            locks.writing.lock();
        },
        "\"Tokens, writing\" is taken under \"Tokens, writing\"");
    Locks others;
    EXPECT_DEATH(
        {
            const std::scoped_lock one(locks.store);
            const std::scoped_lock two(others.store);
        },
        "\"a store\" is taken under \"a store\"");
}
#endif

}  // namespace
}  // namespace crab
