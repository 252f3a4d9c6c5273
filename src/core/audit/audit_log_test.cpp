#include "core/audit/audit_log.hpp"

#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"
#include "json/value.hpp"

#include <future>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;

std::string record(std::string_view id, std::string_view more = {}) {
    return fmt::format(R"({{"call_id":"{}"{}}})", id, more);
}

struct AuditLogTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{2};
    std::shared_ptr<AuditStoreMemory> store = std::make_shared<AuditStoreMemory>();

    void append(AuditLog& log, const std::string& text) {
        log.append_call("caller/ann", [&](std::string& out) { out += text; });
    }
};

TEST_F(AuditLogTest, RecordsReachTheStoreInBatchesAndInOrder) {
    AuditLog log(store, pool, loop.clock);
    for (int i = 0; i < 100; ++i) append(log, record("c" + std::to_string(i)));
    EXPECT_EQ(store->batches(), 0u);
    log.flush_and_wait();
    EXPECT_EQ(store->batches(), 1u);
    const auto records = store->records();
    ASSERT_EQ(records.size(), 100u);
    for (std::size_t i = 0; i < records.size(); ++i)
        EXPECT_EQ(records[i], record("c" + std::to_string(i)));
    log.flush_and_wait();
    EXPECT_EQ(store->batches(), 1u) << "nothing new, nothing stored";
    EXPECT_EQ(log.backlog_bytes(), 0u);
}

TEST_F(AuditLogTest, AFullBufferIsHandedOverWithoutAFlush) {
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 100, .max_backlog_bytes = 1'000'000, .recent_bytes = 1000});
    for (int i = 0; i < 1000; ++i) append(log, record("c" + std::to_string(i)));
    log.flush_and_wait();
    EXPECT_GT(store->batches(), 100u);
    const auto records = store->records();
    ASSERT_EQ(records.size(), 1000u);
    for (std::size_t i = 0; i < records.size(); ++i)
        ASSERT_EQ(records[i], record("c" + std::to_string(i)));
}

TEST_F(AuditLogTest, ABatchTakesLittleMoreMemoryThanItsRecords) {
    struct Weigher : AuditStoreMemory {
        Result<void> append(const AuditBatch& batch) override {
            heaviest = std::max(heaviest, batch.records.capacity());
            return AuditStoreMemory::append(batch);
        }
        std::size_t heaviest = 0;
    };
    const auto weigher = std::make_shared<Weigher>();
    AuditLog log(weigher, pool, loop.clock);
    for (int i = 0; i < 20; ++i) {
        append(log, record("c" + std::to_string(i)));
        log.flush_and_wait();
    }
    EXPECT_EQ(weigher->batches(), 20u);
    EXPECT_LT(weigher->heaviest, 256u);
}

TEST_F(AuditLogTest, TheDestructorLosesNothing) {
    {
        AuditLog log(store, pool, loop.clock);
        append(log, record("c1"));
    }
    EXPECT_EQ(store->records().size(), 1u);
}

TEST_F(AuditLogTest, ACallIsFoundWhereverItsRecordIs) {
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 1 << 20, .max_backlog_bytes = 1 << 20, .recent_bytes = 1});
    append(log, record("old", R"(,"n":1)"));
    append(log, record("old", R"(,"n":2)"));
    EXPECT_EQ(loop.run(log.find_call("old")), record("old", R"(,"n":2)"))
        << "still gathered; the newest";
    log.flush_and_wait();
    EXPECT_EQ(loop.run(log.find_call("old")), record("old", R"(,"n":2)")) << "recent";
    append(log, record("newer"));
    log.flush_and_wait();
    EXPECT_EQ(loop.run(log.find_call("old")), record("old", R"(,"n":2)")) << "in the store only";
    EXPECT_EQ(loop.run(log.find_call("none")), std::nullopt);
    EXPECT_EQ(loop.run(log.find_call("ol")), std::nullopt);
}

TEST_F(AuditLogTest, TextInsideARecordIsNotTakenForACallId) {
    AuditLog log(store, pool, loop.clock);
    append(log, R"({"call_id":"c1","message":"\"call_id\":\"c2\""})");
    EXPECT_EQ(loop.run(log.find_call("c2")), std::nullopt);
}

TEST_F(AuditLogTest, LatestComesNewestFirstFromMemoryAndTheStore) {
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 1 << 20, .max_backlog_bytes = 1 << 20, .recent_bytes = 1});
    for (int i = 0; i < 5; ++i) {
        append(log, record("c" + std::to_string(i)));
        if (i < 4) log.flush_and_wait();
    }
    EXPECT_EQ(loop.run(log.latest(1)), std::vector{record("c4")});
    EXPECT_EQ(loop.run(log.latest(2)), (std::vector{record("c4"), record("c3")}));
    EXPECT_EQ(loop.run(log.latest(4)),
              (std::vector{record("c4"), record("c3"), record("c2"), record("c1")}));
    EXPECT_EQ(loop.run(log.latest(100)).size(), 5u);
    EXPECT_TRUE(loop.run(log.latest(0)).empty());
}

TEST_F(AuditLogTest, ADurableRecordIsWaitedForUntilTheDeadlineOnly) {
    AuditLog log(store, pool, loop.clock);
    std::promise<void> go_on;
    const auto hold = [held = go_on.get_future().share()] { held.wait(); };
    pool.post(hold);
    pool.post(hold);
    const auto late = loop.start(log.append_durable(record("c1"), loop.timers, loop.in(1s)));
    const auto left = loop.start(log.append_durable(record("c2"), loop.timers, kNoDeadline));
    loop.advance(2s);
    loop.cancel(*left);
    ASSERT_TRUE(late->ended() && left->ended());
    EXPECT_EQ(late->get().error().code, ErrorCode::kTimeout);
    EXPECT_EQ(left->get().error().code, ErrorCode::kCancelled);
    go_on.set_value();
    pool.settle();
    EXPECT_TRUE(store->records().empty()) << "what nobody waits for was not begun";
}

TEST_F(AuditLogTest, ADurableRecordIsInTheStoreWhenTheWaitEnds) {
    AuditLog log(store, pool, loop.clock);
    EXPECT_TRUE(loop.run(log.append_durable(record("c1"), loop.timers, kNoDeadline)));
    EXPECT_EQ(store->records(), std::vector{record("c1")});
    EXPECT_EQ(loop.run(log.latest(1)), std::vector{record("c1")}) << "and among the latest at once";
    EXPECT_FALSE(log.failing());
    store->set_failing(true);
    const auto refused = loop.run(log.append_durable(record("c2"), loop.timers, kNoDeadline));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(log.failing());
    EXPECT_EQ(loop.run(log.find_call("c1")), record("c1"));
}

TEST_F(AuditLogTest, TheLogHoldsNoMoreThanItMayHoweverMuchItIsGiven) {
    std::promise<void> go;
    const auto gone = go.get_future().share();
    for (int i = 0; i < 2; ++i) pool.post([gone] { gone.wait(); });
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 100,
                  .max_backlog_bytes = 8'000,
                  .max_backlog_records = 1'000'000,
                  .recent_bytes = 1'000});
    const std::string text = record("c1");
    std::size_t taken = 0;
    for (int i = 0; i < 10'000; ++i)
        taken += log.append_call("device/a", [&](std::string& out) { out += text; }) ? 1 : 0;
    EXPECT_LE(log.backlog_bytes(), 10'200u);
    EXPECT_GE(log.backlog_bytes(), 8'000u);
    EXPECT_EQ(log.lost(), 10'000 - taken);
    EXPECT_FALSE(log.accepts("device/b")) << "full is full";
    go.set_value();
    log.flush_and_wait();
    EXPECT_EQ(store->records().size(), taken);
    EXPECT_TRUE(log.append_call("device/a", [&](std::string& out) { out += text; }));
    EXPECT_TRUE(log.accepts("device/a"));
}

TEST_F(AuditLogTest, TheNumberOfRecordsIsBoundedToo) {
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 1 << 20,
                  .max_backlog_bytes = 1 << 20,
                  .max_backlog_records = 100,
                  .recent_bytes = 1'000});
    int taken = 0;
    for (int i = 0; i < 1'000; ++i)
        taken += log.append_call("caller/ann", [](std::string& out) { out += "{}"; }) ? 1 : 0;
    EXPECT_EQ(taken, 125);
}

TEST_F(AuditLogTest, WhoFillsTheLogIsRefusedAndNobodyElse) {
    std::promise<void> go;
    const auto gone = go.get_future().share();
    for (int i = 0; i < 2; ++i) pool.post([gone] { gone.wait(); });
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 100,
                  .max_backlog_bytes = 160'000,
                  .max_backlog_records = 1'000'000,
                  .recent_bytes = 1'000});
    const std::string text = record("c1");
    int begun = 0;
    while (log.accepts("caller/flood") && begun < 100'000) {
        log.append_call("caller/flood", [&](std::string& out) { out += text; });
        ++begun;
    }
    EXPECT_FALSE(log.accepts("caller/flood"));
    EXPECT_LT(log.backlog_bytes(), 80'000u) << "a fraction of what there is room for";
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(log.accepts("caller/other"));
        EXPECT_TRUE(log.append_call("caller/other", [&](std::string& out) { out += text; }));
    }
    go.set_value();
    log.flush_and_wait();
    EXPECT_TRUE(log.accepts("caller/flood")) << "once it is stored";
    EXPECT_EQ(log.lost(), 0u);
}

/// What peers do is told with a rate: there is no other way in but that for calls, which are
/// refused before they begin.
template <class Log>
concept TakesRecordsWithoutARate =
    requires(Log& log) { log.append([](std::string&) {}); } || requires(Log& log) {
        log.append("caller/ann", [](std::string&) {});
    } || requires(Log& log) { log.append_event("lease.granted", [](json::Writer&) {}); };
static_assert(!TakesRecordsWithoutARate<AuditLog>);

struct AuditEventTest : AuditLogTest {
    AuditLog log{store, pool, loop.clock};

    /// How many of `count` such events were recorded.
    int tell(std::string_view kind, std::string_view by, int count = 1, double burst = 2) {
        int recorded = 0;
        for (int i = 0; i < count; ++i) {
            recorded += log.append_event({.kind = kind, .by = by, .burst = burst},
                                         [](json::Writer& writer) { writer.key("n").integer(1); })
                            ? 1
                            : 0;
        }
        return recorded;
    }
    /// The records that tell what was left out, since it was asked last.
    std::vector<std::string> left_out() {
        log.flush_and_wait();
        const auto records = store->records();
        std::vector<std::string> told;
        for (; looked_at < records.size(); ++looked_at) {
            const auto record = json::Value::parse(records[looked_at]).value();
            if (*record.find("event")->as_string() != "audit.left_out") continue;
            told.push_back(fmt::format("{} {} {}", *record.find("of")->as_string(),
                                       *record.find("principal")->as_string(),
                                       *record.find("count")->as_int64()));
        }
        return told;
    }
    std::size_t looked_at = 0;
};

TEST_F(AuditEventTest, AnEventIsAJsonObjectWithItsKindAndTime) {
    EXPECT_EQ(tell("lease.granted", "agent/a"), 1);
    log.flush_and_wait();
    EXPECT_EQ(store->records(),
              std::vector{fmt::format(R"({{"event":"lease.granted","time":"{}","n":1}})",
                                      to_rfc3339(loop.clock.system_now()))});
}

TEST_F(AuditEventTest, WhatComesTooOftenIsCountedAndToldInARecordOfItsOwn) {
    EXPECT_EQ(tell("lease.granted", "agent/a", 7), 2);
    EXPECT_EQ(tell("lease.ended", "agent/a", 3), 2) << "each kind has its own rate";
    EXPECT_EQ(tell("lease.granted", "agent/b", 1), 1) << "and each principal";
    EXPECT_TRUE(left_out().empty()) << "more may come";
    loop.advance(10s);
    EXPECT_EQ(left_out(),
              (std::vector<std::string>{"lease.granted agent/a 5", "lease.ended agent/a 1"}));
    EXPECT_EQ(tell("lease.granted", "agent/a", 3), 2) << "full again";
    loop.advance(10s);
    EXPECT_EQ(left_out(), std::vector<std::string>{"lease.granted agent/a 1"});
    loop.advance(1h);
    EXPECT_TRUE(left_out().empty());
}

TEST_F(AuditEventTest, AFloodLeavesOneRecordASecondAndASummaryEveryTenSeconds) {
    int recorded = 0;
    std::size_t summaries = 0;
    for (int second = 0; second < 100; ++second) {
        recorded += tell("egress.refused", "caller/ann", 1'000);
        loop.advance(1s);
        summaries += left_out().size();
    }
    EXPECT_NEAR(recorded, 101, 2);
    EXPECT_NEAR(static_cast<double>(summaries), 10, 1);
}

TEST_F(AuditEventTest, WhatWasLeftOutIsToldAtTheEndAtTheLatest) {
    AuditStoreMemory& stored = *store;
    {
        AuditLog short_lived(store, pool, loop.clock);
        for (int i = 0; i < 30; ++i)
            short_lived.append_event({.kind = "artifact.stored", .by = "device/p"},
                                     [](json::Writer&) {});
    }
    ASSERT_EQ(stored.records().size(), 21u);
    EXPECT_NE(
        stored.records().back().find(R"("of":"artifact.stored","principal":"device/p","count":10)"),
        std::string::npos);
}

TEST_F(AuditEventTest, ACrowdOfPrincipalsSharesWhatThereIsRoomFor) {
    AuditLog small(store, pool, loop.clock, {.rate = {.max_buckets = 300}});
    int recorded = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::string by = fmt::format("agent/{}", i);
        recorded += small.append_event({.kind = "peer.mismatch", .by = by, .burst = 2},
                                       [](json::Writer&) {})
                        ? 1
                        : 0;
    }
    EXPECT_EQ(recorded, 300 + 2);
}

TEST_F(AuditLogTest, WhatAFailingStoreRefusesIsCountedAsLost) {
    AuditLog log(store, pool, loop.clock);
    store->set_failing(true);
    append(log, record("c1"));
    append(log, record("c2"));
    log.flush_and_wait();
    EXPECT_EQ(log.lost(), 2u);
    EXPECT_EQ(log.backlog_bytes(), 0u);
    store->set_failing(false);
    append(log, record("c3"));
    log.flush_and_wait();
    EXPECT_EQ(log.lost(), 2u);
    EXPECT_EQ(store->records(), std::vector{record("c3")});
}

TEST_F(AuditLogTest, BeyondTheBacklogNothingMoreIsTakenInUntilTheStoreHasCaughtUp) {
    std::promise<void> go_on;
    auto held = go_on.get_future().share();
    for (int i = 0; i < 2; ++i) pool.post([held] { held.wait(); });  // the store cannot be reached
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 100, .max_backlog_bytes = 1000, .recent_bytes = 1000});
    EXPECT_TRUE(log.accepts());
    for (int i = 0; i < 100 && log.accepts(); ++i) append(log, record("c" + std::to_string(i)));
    EXPECT_FALSE(log.accepts());
    EXPECT_LT(log.backlog_bytes(), 1300u);
    go_on.set_value();
    log.flush_and_wait();
    EXPECT_TRUE(log.accepts());
    EXPECT_EQ(log.lost(), 0u);
}

TEST_F(AuditLogTest, ManyThreadsMayAppendFlushAndAsk) {
    constexpr int kThreads = 3, kRecords = 500;
    AuditLog log(store, pool, loop.clock,
                 {.batch_bytes = 500, .max_backlog_bytes = 1 << 20, .recent_bytes = 2000});
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < kRecords; ++i) {
                    append(log, record(fmt::format("t{}-{}", t, i)));
                    if (i % 50 == 0) log.flush();
                }
            });
        }
        for (int i = 0; i < 20; ++i) loop.run(log.latest(100));
    }
    log.flush_and_wait();
    EXPECT_EQ(store->records().size(), std::size_t{kThreads} * kRecords);
    EXPECT_EQ(log.backlog_bytes(), 0u);
}

}  // namespace
}  // namespace crab::core
