#include "hosts/memory/write_queue.hpp"

#include "base/task/test_loop.hpp"

#include <algorithm>
#include <semaphore>
#include <stdexcept>

#include <gtest/gtest.h>

namespace crab::memory {
namespace {

using namespace std::chrono_literals;

/// Answers every change with its own operation id, once it is let go.
class FakeStore final : public MemoryStore {
public:
    std::vector<Result<MemoryWritten>> write(std::span<const MemoryWrite> writes) override {
        entered.release();
        gate.acquire();
        batches.push_back(writes.size());
        if (throws) throw std::runtime_error("inside");
        std::vector<Result<MemoryWritten>> answers;
        for (const MemoryWrite& write : writes) {
            if (write.key == "bad") {
                answers.emplace_back(fail(ErrorCode::kConflict, "used before"));
            } else {
                answers.emplace_back(
                    MemoryWritten{.operation_id = write.operation_id, .at = write.at});
            }
        }
        return answers;
    }
    Result<MemoryPage> query(const MemoryScope&, const MemoryQuery&) override {
        return MemoryPage{};
    }

    std::counting_semaphore<> gate{0}, entered{0};
    std::vector<std::size_t> batches;   // written under the gate, read when it is closed
    bool throws = false;
};

struct WriteQueueTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{1};
    FakeStore store;
    WriteQueue::Options options;
    std::unique_ptr<WriteQueue> queue;

    void open() { queue = std::make_unique<WriteQueue>(store, pool, loop.clock, options); }
    auto start(std::string operation, Deadline deadline = kNoDeadline, std::string key = {}) {
        MemoryAppend append;
        append.entries.push_back({.entry_id = operation, .text = "0123456789"});
        MemoryWrite write{.scope = {},
                          .principal = "caller/ann",
                          .key = key.empty() ? operation : key,
                          .operation_id = operation,
                          .at = loop.clock.system_now(),
                          .change = std::move(append)};
        return loop.start(queue->write(std::move(write), loop.timers, deadline));
    }
    /// Lets all batches through and runs until every one of `started` has its answer.
    void finish(std::initializer_list<std::shared_ptr<Started<Result<MemoryWritten>>>> started) {
        store.gate.release(1'000);
        loop.run_until([&] {
            return std::ranges::all_of(started, [](const auto& one) { return one->ended(); });
        });
    }
};

TEST_F(WriteQueueTest, WhatComesDuringOneCommitSharesTheNextAndEachGetsItsOwnAnswer) {
    open();
    const auto a = start("a");
    store.entered.acquire();   // the first batch is being written
    const auto b = start("b"), bad = start("c", kNoDeadline, "bad"), d = start("d");
    finish({a, b, bad, d});
    EXPECT_EQ(store.batches, (std::vector<std::size_t>{1, 3}));
    EXPECT_EQ(a->get()->operation_id, "a");
    EXPECT_EQ(b->get()->operation_id, "b");
    EXPECT_EQ(bad->get().error().code, ErrorCode::kConflict);
    EXPECT_EQ(d->get()->operation_id, "d");
}

TEST_F(WriteQueueTest, ABatchHasABound) {
    options.max_batch_weight = 2;
    open();
    const auto a = start("a");
    store.entered.acquire();
    const auto b = start("b"), c = start("c"), d = start("d");
    finish({a, b, c, d});
    EXPECT_EQ(store.batches, (std::vector<std::size_t>{1, 2, 1}));
}

TEST_F(WriteQueueTest, AFullQueueRefusesAndSaysThatARepeatMayHelp) {
    options.max_waiting = 1;
    open();
    const auto a = start("a");
    store.entered.acquire();
    const auto b = start("b"), c = start("c");
    EXPECT_FALSE(b->ended());
    ASSERT_TRUE(c->ended());
    EXPECT_EQ(c->get().error().code, ErrorCode::kRateLimited);
    EXPECT_TRUE(c->get().error().may_retry());
    finish({a, b});
}

TEST_F(WriteQueueTest, TextThatWaitsHasABoundToo) {
    options.max_waiting_bytes = 30;   // two entries with their tags and metadata
    open();
    const auto a = start("a");
    store.entered.acquire();
    const auto b = start("b"), c = start("c"), d = start("d");
    EXPECT_FALSE(c->ended());
    ASSERT_TRUE(d->ended());
    EXPECT_EQ(d->get().error().code, ErrorCode::kRateLimited);
    finish({a, b, c});
}

TEST_F(WriteQueueTest, AChangeWhoseDeadlineHasPassedIsNotWritten) {
    open();
    const auto a = start("a");
    store.entered.acquire();
    const auto late = start("late", loop.in(1s)), b = start("b", loop.in(3s));
    loop.advance(2s);
    finish({a, late, b});
    EXPECT_EQ(late->get().error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(b->get());
    EXPECT_EQ(store.batches, (std::vector<std::size_t>{1, 1}));
}

TEST_F(WriteQueueTest, AStoreThatHangsHoldsNobodyBeyondItsDeadline) {
    open();
    const auto being_written = start("a", loop.in(1s));
    store.entered.acquire();
    const auto waiting = start("b", loop.in(1s)), left = start("c");
    loop.advance(2s);
    loop.cancel(*left);
    ASSERT_TRUE(being_written->ended() && waiting->ended() && left->ended());
    EXPECT_EQ(being_written->get().error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(being_written->get().error().message.contains("may still take effect"));
    EXPECT_EQ(waiting->get().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(left->get().error().code, ErrorCode::kCancelled);
    const auto next = start("d");
    finish({next});
    EXPECT_EQ(store.batches, (std::vector<std::size_t>{1, 1})) << "b and c were not written";
}

TEST_F(WriteQueueTest, AStoreThatThrowsIsAnErrorForItsBatchOnly) {
    open();
    store.throws = true;
    const auto a = start("a");
    finish({a});
    EXPECT_EQ(a->get().error().code, ErrorCode::kInternal);
    store.throws = false;
    const auto b = start("b");
    finish({b});
    EXPECT_TRUE(b->get());
}

TEST_F(WriteQueueTest, ClosingWritesWhatWaits) {
    open();
    const auto a = start("a");
    store.entered.acquire();
    const auto b = start("b");
    store.gate.release(1'000);
    queue.reset();
    EXPECT_EQ(store.batches, (std::vector<std::size_t>{1, 1}));
    loop.settle();
    EXPECT_TRUE(a->get());
    EXPECT_TRUE(b->get());
}

}  // namespace
}  // namespace crab::memory
