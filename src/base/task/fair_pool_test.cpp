#include "base/task/fair_pool.hpp"

#include "base/task/test_loop.hpp"

#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab {
namespace {

using testing::ElementsAre;

/// A pool whose only thread waits until the test has posted all that it wants to.
struct FairPoolTest : testing::Test {
    std::latch begin{1};
    std::vector<std::string> order;
    FairPool pool{1};

    FairPoolTest() {
        pool.post("gate", [this] {
            begin.wait();
            return false;
        });
    }
    void post(const std::string& line, const std::string& name, int turns = 1) {
        pool.post(line, [this, name, left = turns]() mutable {
            order.push_back(name);
            return --left > 0;
        });
    }
    void finish() {
        begin.count_down();
        pool.settle();
    }
};

TEST_F(FairPoolTest, LinesTakeTurnsAndEachKeepsItsOrder) {
    for (const char* name : {"a1", "a2", "a3"}) post("a", name);
    for (const char* name : {"b1", "b2"}) post("b", name);
    post("c", "c1");
    finish();
    EXPECT_THAT(order, ElementsAre("a1", "b1", "c1", "a2", "b2", "a3"));
}

TEST_F(FairPoolTest, LongWorkIsDoneInTurns) {
    post("a", "a1", 3);
    post("a", "a2");
    post("b", "b1", 2);
    finish();
    EXPECT_THAT(order, ElementsAre("a1", "b1", "a1", "b1", "a1", "a2"));
}

TEST(FairPool, OfOneLineOnePieceRunsAtATime) {
    FairPool pool(4);
    std::atomic<int> running = 0, most = 0, done = 0;
    for (int i = 0; i < 200; ++i) {
        pool.post("same", [&] {
            most = std::max(most.load(), ++running);
            std::this_thread::yield();
            --running;
            ++done;
            return false;
        });
    }
    pool.settle();
    EXPECT_EQ(most, 1);
    EXPECT_EQ(done, 200);
}

TEST(FairPool, WhoAwaitsWorkGetsItsValueOrWhatItThrew) {
    TestLoop loop;
    FairPool pool(2);
    const auto ask = [&](int number) -> Task<int> {
        auto work = [number] {
            if (number < 0) throw std::runtime_error("no");
            return number * 2;
        };
        co_return co_await pool.run("line", work);
    };
    EXPECT_EQ(loop.run(ask(21)), 42);
    EXPECT_THROW(loop.run(ask(-1)), std::runtime_error);
}

}  // namespace
}  // namespace crab
