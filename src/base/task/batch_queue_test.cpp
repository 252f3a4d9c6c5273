#include "base/task/batch_queue.hpp"

#include "base/task/test_loop.hpp"

#include <algorithm>
#include <semaphore>
#include <stdexcept>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

struct BatchQueueTest : testing::Test {
    using Queue = BatchQueue<int, int>;
    TestLoop loop;
    BlockingPool pool{1};
    std::counting_semaphore<> gate{0}, entered{0};
    std::vector<std::vector<int>> batches;   // written behind the gate, read when it is closed
    bool throws = false;
    std::optional<Queue> queue;

    /// Answers every number with its negative, once it is let go.
    void open(std::size_t max_waiting = 100, std::size_t max_weight = 100,
              decltype(Queue::Options::undo) undo = {}) {
        auto write = [this](std::vector<int>& batch) {
            entered.release();
            gate.acquire();
            batches.push_back(batch);
            if (throws) throw std::runtime_error("inside");
            std::vector<Result<int>> answers;
            for (const int number : batch) answers.emplace_back(-number);
            return answers;
        };
        queue.emplace(Queue::Options{.name = "numbers",
                                     .max_waiting = max_waiting,
                                     .max_batch_weight = max_weight,
                                     .undo = std::move(undo)},
                      std::move(write), pool, loop.clock);
    }
    auto ask(int number, Queue::Terms terms = {}) { return loop.start(queue->ask(number, terms)); }
    /// Lets everything through and runs until every one of `started` has its answer.
    void finish(std::initializer_list<std::shared_ptr<Started<Result<int>>>> started) {
        gate.release(1'000);
        loop.run_until([&] {
            return std::ranges::all_of(started, [](const auto& one) { return one->ended(); });
        });
    }
};

TEST_F(BatchQueueTest, WhatComesDuringOneCommitSharesTheNextInItsOrder) {
    open();
    const auto one = ask(1);
    entered.acquire();   // the first batch is being written
    const auto two = ask(2);
    queue->post(3);
    const auto four = ask(4);
    finish({one, two, four});
    EXPECT_EQ(batches, (std::vector<std::vector<int>>{{1}, {2, 3, 4}}));
    EXPECT_EQ(*one->get(), -1);
    EXPECT_EQ(*four->get(), -4);
}

TEST_F(BatchQueueTest, AFullQueueRefusesButNotWhatIsCertain) {
    open(1);
    const auto one = ask(1);
    entered.acquire();
    const auto two = ask(2), refused = ask(3), certain = ask(4, {.entry = Queue::Entry::kCertain});
    queue->post(5);
    ASSERT_TRUE(refused->ended());
    EXPECT_EQ(refused->get().error().code, ErrorCode::kRateLimited);
    EXPECT_FALSE(certain->ended());
    finish({one, two, certain});
    EXPECT_EQ(batches.back(), (std::vector<int>{2, 4, 5}));
}

TEST_F(BatchQueueTest, WhatIsPastItsDeadlineIsNotWritten) {
    open();
    const auto one = ask(1);
    entered.acquire();
    const auto late = ask(2, {.deadline = loop.in(1s)});
    loop.clock.advance(2s);
    finish({one, late});
    EXPECT_EQ(late->get().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(batches.size(), 1u);
}

TEST_F(BatchQueueTest, WhoHasADeadlineIsAnsweredAtItAndNothingOfItStays) {
    std::vector<int> undone;
    open(100, 100, [&](const Result<int>& written) -> std::optional<int> {
        undone.push_back(*written);
        return 1'000 - *written;
    });
    const auto being_written = ask(1, {.deadline = loop.in(1s), .timers = &loop.timers});
    entered.acquire();
    const auto waiting = ask(2, {.deadline = loop.in(1s), .timers = &loop.timers}),
               cancelled = ask(3, {.timers = &loop.timers});
    const auto patient = ask(4, {.timers = &loop.timers});
    loop.advance(2s);
    loop.cancel(*cancelled);
    ASSERT_TRUE(being_written->ended() && waiting->ended() && cancelled->ended());
    EXPECT_EQ(being_written->get().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(waiting->get().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(cancelled->get().error().code, ErrorCode::kCancelled);
    EXPECT_FALSE(patient->ended());
    finish({patient});
    EXPECT_EQ(*patient->get(), -4);
    EXPECT_EQ(undone, std::vector<int>{-1});
    EXPECT_EQ(batches, (std::vector<std::vector<int>>{{1}, {1'001, 4}}))
        << "what takes back comes before all that waited";
}

TEST_F(BatchQueueTest, WhatIsWrittenHoweverLateIsNotWithdrawnAtItsDeadline) {
    open();
    const auto one = ask(1);
    entered.acquire();
    const auto late = ask(2, {.deadline = loop.in(1s),
                              .timers = &loop.timers,
                              .late = BatchQueue<int, int>::Late::kWritten});
    loop.advance(2s);
    ASSERT_TRUE(late->ended());
    EXPECT_EQ(late->get().error().code, ErrorCode::kTimeout);
    const auto last = ask(3);
    finish({one, last});
    EXPECT_EQ(batches, (std::vector<std::vector<int>>{{1}, {2, 3}}));
}

TEST_F(BatchQueueTest, AWriterThatThrowsIsAnErrorForItsBatchOnly) {
    open();
    throws = true;
    const auto one = ask(1);
    finish({one});
    EXPECT_EQ(one->get().error().code, ErrorCode::kInternal);
    throws = false;
    const auto two = ask(2);
    finish({two});
    EXPECT_EQ(*two->get(), -2);
}

TEST_F(BatchQueueTest, ClosingWritesWhatWaits) {
    open(100, 1);
    const auto one = ask(1);
    entered.acquire();
    queue->post(2);
    gate.release(1'000);
    queue.reset();
    EXPECT_EQ(batches, (std::vector<std::vector<int>>{{1}, {2}}));
    loop.settle();
    EXPECT_EQ(*one->get(), -1);
}

}  // namespace
}  // namespace crab
