#include "store/sqlite/audit_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "base/test_clock.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using core::AuditBatch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string record(std::string_view call_id, int n) {
    return fmt::format(R"({{"call_id":"{}","n":{}}})", call_id, n);
}

class AuditStoreSqliteTest : public testing::Test {
protected:
    std::unique_ptr<AuditStoreSqlite> open(DatabaseOptions options = {}) {
        return std::move(AuditStoreSqlite::open(path, options).value());
    }
    AuditBatch batch(std::string records, std::uint32_t count = 1) const {
        return {.first = clock.system_now(),
                .last = clock.system_now(),
                .count = count,
                .records = std::move(records)};
    }
    /// Five batches, one a day, numbered from 1.
    void append_five_days(AuditStoreSqlite& store) {
        for (int day = 1; day <= 5; ++day) {
            ASSERT_TRUE(store.append(batch(record(fmt::format("c{}", day), day))));
            clock.advance(24h);
        }
    }
    /// What somebody does to the file behind the store's back.
    void tamper(std::string_view sql) { ASSERT_TRUE(Database::open(path).value().execute(sql)); }

    TestFolder folder;
    std::filesystem::path path = folder / "audit.db";
    FakeClock clock;
};

TEST_F(AuditStoreSqliteTest, TheLatestRecordsComeNewestFirstAcrossBatches) {
    const auto store = open();
    EXPECT_THAT(store->latest(10).value(), IsEmpty());
    ASSERT_TRUE(store->append(batch(record("a", 1) + "\n" + record("b", 2) + "\n", 2)));
    ASSERT_TRUE(store->append(batch(record("c", 3) + "\n" + record("d", 4), 2)));
    ASSERT_TRUE(store->append(batch("\n", 0)));
    EXPECT_THAT(store->latest(3).value(),
                ElementsAre(record("d", 4), record("c", 3), record("b", 2)));
    EXPECT_THAT(store->latest(99).value(),
                ElementsAre(record("d", 4), record("c", 3), record("b", 2), record("a", 1)));
    EXPECT_THAT(store->latest(0).value(), IsEmpty());
}

TEST_F(AuditStoreSqliteTest, ACallIsFoundByItsWholeIdNewestRecordFirst) {
    const auto store = open();
    ASSERT_TRUE(store->append(batch(record("call-1", 1) + "\n" + record("call-12", 2), 2)));
    ASSERT_TRUE(store->append(batch(record("call-3", 3) + "\n" + record("call-1", 4) + "\n" +
                                        record("call-1", 5) + "\n" + record("call-4", 6),
                                    4)));
    EXPECT_EQ(store->find_call("call-1", {}).value(), record("call-1", 5));
    EXPECT_EQ(store->find_call("call-12", {}).value(), record("call-12", 2));
    EXPECT_EQ(store->find_call("call", {}).value(), std::nullopt);
    EXPECT_EQ(store->find_call("", {}).value(), std::nullopt);
}

TEST_F(AuditStoreSqliteTest, IdsAreLookedForAsJsonWritesThem) {
    const auto store = open();
    ASSERT_TRUE(store->append(batch(R"({"call_id":"a\"b\\c"})")));
    EXPECT_EQ(store->find_call("a\"b\\c", {}).value(), R"({"call_id":"a\"b\\c"})");
}

TEST_F(AuditStoreSqliteTest, CallsBeforeTheSearchedDaysAreNotFound) {
    const auto store = open();
    append_five_days(*store);
    const SystemTime start = clock.system_now() - 5 * 24h;
    EXPECT_TRUE(store->find_call("c2", start + 24h).value());
    EXPECT_FALSE(store->find_call("c2", start + 24h + 1ms).value());
}

TEST_F(AuditStoreSqliteTest, TheChainHoldsAcrossRestarts) {
    const auto empty = open()->verify_chain({}).value();
    EXPECT_TRUE(empty.intact);
    EXPECT_EQ(empty.batches, 0u);
    EXPECT_EQ(empty.head_hash, std::string(64, '0'));
    ASSERT_TRUE(open()->append(batch(record("a", 1))));
    ASSERT_TRUE(open()->append(batch(record("b", 1) + "\n" + record("c", 1), 2)));
    const auto check = open()->verify_chain({}).value();
    EXPECT_TRUE(check.intact) << check.problem;
    EXPECT_EQ(check.batches, 2u);
    EXPECT_EQ(check.records, 3u);
    EXPECT_EQ(check.first_sequence, 1u);
    EXPECT_EQ(check.last_sequence, 2u);
    EXPECT_NE(check.head_hash, empty.head_hash);
}

TEST_F(AuditStoreSqliteTest, EveryKindOfTamperingIsFoundAndNamed) {
    const std::pair<const char*, const char*> cases[] = {
        {"UPDATE audit SET records = replace(records, 'c3', 'x3') WHERE sequence = 3",
         "batch 3: its content was changed"},
        {"UPDATE audit SET count = 9 WHERE sequence = 3", "batch 3: its content was changed"},
        {"UPDATE audit SET last_ms = last_ms + 1 WHERE sequence = 3",
         "batch 3: its content was changed"},
        {"DELETE FROM audit WHERE sequence = 2", "batch 3: batches before it are missing"},
        {"DELETE FROM audit WHERE sequence = 1", "batch 2: batches before it are missing"},
        {"UPDATE audit SET previous = zeroblob(32) WHERE sequence = 4",
         "batch 4: it does not follow the batch before it"},
        {"UPDATE audit SET hash = zeroblob(32) WHERE sequence = 5",
         "batch 5: its content was changed"},
        {"UPDATE audit_anchor SET hash = randomblob(32)",
         "batch 1: it does not follow the batch before it"},
    };
    int number = 0;
    for (const auto& [sql, problem] : cases) {
        path = folder / fmt::format("audit{}.db", ++number);
        append_five_days(*open());
        tamper(sql);
        const auto check = open()->verify_chain({});
        EXPECT_FALSE(check.value().intact) << sql;
        EXPECT_EQ(check.value().problem, problem) << sql;
    }
}

TEST_F(AuditStoreSqliteTest, PruningRemovesWhatIsOldAndTheRestStaysVerifiable) {
    const auto store = open();
    append_five_days(*store);
    const SystemTime start = clock.system_now() - 5 * 24h;
    EXPECT_EQ(store->prune(start).value(), 0u);
    EXPECT_EQ(store->prune(start + 2 * 24h).value(), 2u) << "the batch of that very moment stays";
    auto check = store->verify_chain({}).value();
    EXPECT_TRUE(check.intact) << check.problem;
    EXPECT_EQ(check.first_sequence, 3u);
    EXPECT_EQ(check.batches, 3u);
    tamper("DELETE FROM audit WHERE sequence = 3");
    EXPECT_FALSE(store->verify_chain({}).value().intact);
}

TEST_F(AuditStoreSqliteTest, BatchesOfARangeAreReadFromEitherEndUntilTheReaderHasEnough) {
    const auto store = open();
    append_five_days(*store);
    const SystemTime start = clock.system_now() - 5 * 24h;
    const auto read = [&](const core::AuditRange& range, std::size_t most = 99) {
        std::vector<std::uint64_t> sequences;
        EXPECT_TRUE(store->read(range, [&](const core::StoredAuditBatch& batch) {
            EXPECT_EQ(batch.records,
                      record(fmt::format("c{}", batch.sequence), static_cast<int>(batch.sequence)));
            sequences.push_back(batch.sequence);
            return sequences.size() < most;
        }));
        return sequences;
    };
    EXPECT_THAT(read({}), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(read({.newest_first = true}), ElementsAre(5, 4, 3, 2, 1));
    EXPECT_THAT(read({.newest_first = true}, 2), ElementsAre(5, 4));
    EXPECT_THAT(read({.from = start + 2 * 24h}), ElementsAre(3, 4, 5));
    EXPECT_THAT(
        read({.from = start + 24h + 1ms, .to = start + 3 * 24h - 1ms, .newest_first = true}),
        ElementsAre(4, 3));
    EXPECT_THAT(read({.to = start}), ElementsAre(1, 2));
    EXPECT_THAT(read({.from = start + 9 * 24h}), IsEmpty());
    EXPECT_THAT(read({.newest_first = true, .begin = 3}), ElementsAre(3, 2, 1));
    EXPECT_THAT(read({.begin = 4}), ElementsAre(4, 5));
    EXPECT_THAT(read({.begin = UINT64_MAX}), IsEmpty());
    ASSERT_EQ(store->prune(start + 3 * 24h).value(), 3u);
    EXPECT_THAT(read({.newest_first = true, .begin = 3}), IsEmpty());
}

TEST_F(AuditStoreSqliteTest, AVerificationEndsWhenItIsToldTo) {
    const auto store = open();
    append_five_days(*store);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(store->verify_chain(stop.get_token()).error().code, ErrorCode::kCancelled);
}

TEST_F(AuditStoreSqliteTest, TheChainGoesOnWhenEverythingWasPruned) {
    const auto store = open();
    append_five_days(*store);
    const auto before = store->verify_chain({}).value();
    EXPECT_EQ(store->prune(clock.system_now()).value(), 5u);
    const auto none = store->verify_chain({}).value();
    EXPECT_TRUE(none.intact);
    EXPECT_EQ(none.head_hash, before.head_hash);
    ASSERT_TRUE(store->append(batch(record("next", 1))));
    const auto after = store->verify_chain({}).value();
    EXPECT_TRUE(after.intact) << after.problem;
    EXPECT_EQ(after.last_sequence, 6u);
}

TEST_F(AuditStoreSqliteTest, AnOldBatchBehindANewerOneStaysBecauseOnlyTheOldestEndIsCut) {
    const auto store = open();
    clock.advance(24h);
    ASSERT_TRUE(store->append(batch(record("a", 1))));
    clock.advance(-12h);  // the clock was set back
    ASSERT_TRUE(store->append(batch(record("b", 2))));
    EXPECT_EQ(store->prune(clock.system_now() + 1h).value(), 0u);
    EXPECT_TRUE(store->verify_chain({}).value().intact);
}

TEST_F(AuditStoreSqliteTest, PruningManyBatchesTakesSeveralTransactions) {
    const auto store = open({.durability = Durability::kProcess});
    for (int i = 0; i < 2'100; ++i) ASSERT_TRUE(store->append(batch("{}")));
    clock.advance(1ms);
    ASSERT_TRUE(store->append(batch("{}")));
    EXPECT_EQ(store->prune(clock.system_now()).value(), 2'100u);
    EXPECT_TRUE(store->verify_chain({}).value().intact);
}

TEST_F(AuditStoreSqliteTest, OneAppendHoldsThousandsOfRecords) {
    const auto store = open();
    std::string records;
    for (int i = 0; i < 10'000; ++i) records += record(fmt::format("call-{}", i), i) + "\n";
    ASSERT_TRUE(store->append(batch(records, 10'000)));
    EXPECT_EQ(store->find_call("call-7777", {}).value(), record("call-7777", 7777));
    EXPECT_EQ(store->latest(20'000).value().size(), 10'000u);
}

TEST_F(AuditStoreSqliteTest, AFullDiskStoresNothingOfTheBatchAndLeavesTheChainWhole) {
    const auto store = open({.max_pages = 32});
    ASSERT_TRUE(store->append(batch(record("a", 1))));
    const auto full = store->append(batch(std::string(1'000'000, 'x')));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(full.error().message, HasSubstr("disk is full"));
    ASSERT_TRUE(store->append(batch(record("b", 2))));
    const auto check = store->verify_chain({}).value();
    EXPECT_TRUE(check.intact) << check.problem;
    EXPECT_EQ(check.batches, 2u);
}

TEST_F(AuditStoreSqliteTest, SearchingAndVerifyingGoOnWhileBatchesAreAppended) {
    const auto store = open();
    ASSERT_TRUE(store->append(batch(record("first", 0))));
    std::jthread appender([&] {
        for (int i = 0; i < 100; ++i) ASSERT_TRUE(store->append(batch(record("x", i))));
    });
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(store->verify_chain({}).value().intact);
        EXPECT_TRUE(store->find_call("first", {}).value());
    }
    appender.join();
    EXPECT_EQ(store->verify_chain({}).value().batches, 101u);
}

TEST_F(AuditStoreSqliteTest, WhatAppendHasConfirmedSurvivesAKillAtAnyMoment) {
    open();
    std::uint64_t confirmed = 0;  // over all rounds
    for (int round = 0; round < 12; ++round) {
        int pipe_ends[2];
        ASSERT_EQ(::pipe(pipe_ends), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::close(pipe_ends[0]);
            auto store = AuditStoreSqlite::open(path, {});
            if (!store) ::_exit(1);
            for (;;) {
                if (!(*store)->append(batch(std::string(20'000, 'x')))) ::_exit(1);
                if (::write(pipe_ends[1], "+", 1) != 1) ::_exit(1);
            }
        }
        ::close(pipe_ends[1]);
        char byte;
        // then it is killed in the middle of whatever comes next
        for (int i = 0; i < 5 + round; ++i) {
            ASSERT_EQ(::read(pipe_ends[0], &byte, 1), 1);
            ++confirmed;
        }
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));
        while (::read(pipe_ends[0], &byte, 1) == 1) ++confirmed;
        ::close(pipe_ends[0]);

        const auto check = open()->verify_chain({}).value();
        EXPECT_TRUE(check.intact) << check.problem;
        EXPECT_GE(check.batches, confirmed);
        // at most one unconfirmed per round
        EXPECT_LE(check.batches, confirmed + 1 + static_cast<std::uint64_t>(round));
    }
}

}  // namespace
}  // namespace crab::store::sqlite
