#include "store/postgres/ledger_store_postgres.hpp"

#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"
#include "store/postgres/test_ledger.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <thread>

namespace crab::store::postgres {
namespace {

using namespace std::chrono_literals;
using core::LedgerAdmission;
using core::LedgerChange;
using core::LedgerEntry;
using core::LedgerStatus;

/// Nodes of one fleet, each with a store of its own.
struct LedgerOfNodesTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
        ASSERT_TRUE(StoresPostgres::open({.database = options, .fleet = "harbour"}));
        one = node(1);
        two = node(2);
    }
    std::unique_ptr<LedgerStorePostgres> node(std::int16_t number) {
        return LedgerStorePostgres::open(options, number, "n").value();
    }
    static Result<LedgerEntry> write(core::LedgerStore& store, LedgerChange change) {
        return store.write({std::move(change)}).front();
    }
    std::int64_t count(const std::string& what) {
        Connection database(options);
        return database.query("SELECT count(*) FROM " + what).value()[0].integer(0);
    }

    ConnectionOptions options;
    std::unique_ptr<LedgerStorePostgres> one, two;
};

TEST_F(LedgerOfNodesTest, AKeyIsAdmittedOnceOverAllNodesAndReplayedOnAnother) {
    const LedgerEntry first = write(*one, admission("k")).value();
    EXPECT_EQ(write(*two, admission("k"))->status, LedgerStatus::kOpen);
    ASSERT_TRUE(write(*one, end_of(first, "done")));
    const LedgerEntry again = write(*two, admission("k")).value();
    ASSERT_EQ(again.status, LedgerStatus::kFinished);
    EXPECT_EQ((*again.outcome)->content, "done");
    EXPECT_EQ(again.duration, 7ms);
}

TEST_F(LedgerOfNodesTest, AKeyTwiceInABatchIsAdmittedOnce) {
    const auto answers = one->write({admission("k"), admission("other"), admission("k")});
    EXPECT_EQ(answers[0]->status, LedgerStatus::kAdmitted);
    EXPECT_EQ(answers[1]->status, LedgerStatus::kAdmitted);
    EXPECT_EQ(answers[2]->status, LedgerStatus::kOpen);
}

TEST_F(LedgerOfNodesTest, AReleasedKeyIsAdmittedAtOnceElsewhere) {
    const LedgerEntry first = write(*one, admission("k")).value();
    ASSERT_TRUE(write(*one, core::LedgerRelease{first.ref}));
    EXPECT_EQ(write(*two, admission("k"))->status, LedgerStatus::kAdmitted);
    EXPECT_EQ(write(*one, end_of(first, "late"))->status, LedgerStatus::kOpen)
        << "it was decided before";
}

TEST_F(LedgerOfNodesTest, ANodeReleasesOnlyWhatItHasAdmitted) {
    const LedgerEntry first = write(*one, admission("k")).value();
    ASSERT_TRUE(write(*two, core::LedgerRelease{first.ref}));
    EXPECT_EQ(write(*two, admission("k"))->status, LedgerStatus::kOpen);
}

TEST_F(LedgerOfNodesTest, AnEndThatLostToATakeOverIsToldAndTheOtherStands) {
    const LedgerEntry first = write(*one, admission("k", true)).value();
    const LedgerEntry second = write(*two, admission("k", true)).value();
    ASSERT_EQ(second.status, LedgerStatus::kAdmitted);
    EXPECT_EQ(write(*one, end_of(first, "first"))->status, LedgerStatus::kOpen);
    EXPECT_EQ(write(*two, end_of(second, "second"))->status, LedgerStatus::kFinished);
    EXPECT_EQ((*write(*one, admission("k"))->outcome)->content, "second");
}

TEST_F(LedgerOfNodesTest, AnEndThatIsSentTwiceIsOneEnd) {
    const LedgerEntry first = write(*one, admission("k")).value();
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(write(*one, end_of(first, "done"))->status, LedgerStatus::kFinished);
    EXPECT_EQ(count("call_end"), 1);
}

TEST_F(LedgerOfNodesTest, AProcessWhoseNumberAnotherHasTakenWritesNothingMore) {
    const LedgerEntry running = write(*one, admission("running")).value();
    const auto next = node(1);
    const auto refused = write(*one, admission("k"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(write(*one, admission("running", true)).error().code, ErrorCode::kUnavailable)
        << "nor takes over";
    EXPECT_EQ(write(*one, end_of(running, "done")).error().code, ErrorCode::kUnavailable)
        << "nor ends what it ran";
    EXPECT_EQ(count("call_end"), 0);
    EXPECT_EQ(write(*next, admission("k"))->status, LedgerStatus::kAdmitted);
    EXPECT_EQ(count("call"), 2);
}

/// The connection is cut between batches and in them; what was answered has been written.
TEST_F(LedgerOfNodesTest, ABatchIsSentAgainWhenTheConnectionIsLost) {
    auto cutter = std::make_unique<ConnectionCutter>(options);
    int admitted = 0;
    for (int i = 0; i < 200; ++i) {
        const auto answer = write(*one, admission(std::to_string(i)));
        cutter->step();
        if (!answer) continue;
        EXPECT_EQ(answer->status, LedgerStatus::kAdmitted) << i;
        ++admitted;
    }
    cutter.reset();
    EXPECT_GT(admitted, 0);
    EXPECT_LE(admitted, count("call"));
    for (int i = 0; i < 200; ++i) (void)write(*two, admission(std::to_string(i)));
    EXPECT_EQ(count("call"), 200);
}

/// While one lives, the database takes no connections, and has none.
class Outage {
public:
    explicit Outage(const ConnectionOptions& options) : admin_(of_all(options)) {
        name_ = Connection(options).query("SELECT current_database()").value()[0].text(0);
        allow("false");
        EXPECT_TRUE(admin_.query(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1",
            name_));
    }
    ~Outage() { allow("true"); }

private:
    static ConnectionOptions of_all(ConnectionOptions options) {
        options.dsn += " dbname=postgres";  // the last one counts
        return options;
    }
    void allow(const char* whether) {
        EXPECT_TRUE(admin_.execute("ALTER DATABASE " + name_ + " ALLOW_CONNECTIONS " + whether));
    }
    Connection admin_;
    std::string name_;
};

TEST_F(LedgerOfNodesTest, AnEndIsSentAgainUntilTheDatabaseTakesIt) {
    const LedgerEntry first = write(*one, admission("k")).value();
    {
        const Outage outage(options);
        EXPECT_EQ(write(*one, end_of(first, "done")).error().code, ErrorCode::kUnavailable);
        EXPECT_EQ(one->owed(), 1u);
    }
    // Without anything else to write.
    while (one->owed() != 0) std::this_thread::sleep_for(10ms);
    const LedgerEntry again = write(*two, admission("k")).value();
    ASSERT_EQ(again.status, LedgerStatus::kFinished);
    EXPECT_EQ((*again.outcome)->content, "done");
}

TEST_F(LedgerOfNodesTest, WhatIsOwedIsWrittenBeforeWhatComesNext) {
    const LedgerEntry ended = write(*one, admission("ended")).value();
    const LedgerEntry released = write(*one, admission("released")).value();
    {
        const Outage outage(options);
        EXPECT_FALSE(write(*one, end_of(ended, "done")));
        EXPECT_FALSE(write(*one, core::LedgerRelease{released.ref}));
        EXPECT_FALSE(write(*one, admission("never sent")));
        EXPECT_EQ(one->owed(), 2u) << "what did not reach the database is owed nothing";
    }
    const auto answers = one->write({admission("ended", true), admission("released")});
    EXPECT_EQ(answers[0]->status, LedgerStatus::kFinished) << "not taken over";
    EXPECT_EQ(answers[1]->status, LedgerStatus::kAdmitted);
    EXPECT_EQ(one->owed(), 0u);
}

TEST_F(LedgerOfNodesTest, AnOwedEndThatLostToATakeOverStaysLost) {
    const LedgerEntry first = write(*one, admission("k", true)).value();
    {
        const Outage outage(options);
        EXPECT_FALSE(write(*one, end_of(first, "first")));
    }
    const LedgerEntry second = write(*two, admission("k", true)).value();
    if (second.status == LedgerStatus::kAdmitted) {  // before the first could send it again
        ASSERT_TRUE(write(*two, end_of(second, "second")));
        while (one->owed() != 0) std::this_thread::sleep_for(10ms);
        EXPECT_EQ((*write(*one, admission("k"))->outcome)->content, "second");
    } else {
        EXPECT_EQ((*second.outcome)->content, "first");
    }
}

/// The commit takes longer than the store waits for its answer.
TEST_F(LedgerOfNodesTest, AnAdmissionWhoseAnswerWasLostIsReleased) {
    Connection database(options);
    ASSERT_TRUE(database.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM "
        "pg_sleep(1.8); RETURN NULL; END$$; CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON call "
        "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()"));
    ConnectionOptions hasty = options;
    hasty.limit = 500ms;
    const auto three = LedgerStorePostgres::open(hasty, 3, "n").value();
    EXPECT_FALSE(write(*three, admission("k")));
    EXPECT_EQ(three->owed(), 1u);
    while (three->owed() != 0) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(count("call"), 1);
    EXPECT_EQ(count("call_end"), 1);
    EXPECT_EQ(write(*two, admission("k"))->status, LedgerStatus::kAdmitted);
}

TEST_F(LedgerOfNodesTest, AnEndThatCannotBeStoredHoldsUpNoOther) {
    const LedgerEntry first = write(*one, admission("first")).value();
    const LedgerEntry second = write(*one, admission("second")).value();
    Connection database(options);
    ASSERT_TRUE(database.execute("ALTER TABLE call_end ADD CHECK (first <> 'bad')"));
    EXPECT_FALSE(one->write({end_of(first, "bad"), end_of(second, "done")})[1]);
    EXPECT_EQ(write(*one, admission("second"))->status, LedgerStatus::kFinished);
    EXPECT_EQ(write(*one, admission("first"))->status, LedgerStatus::kOpen);
    EXPECT_EQ(one->owed(), 0u);
}

TEST_F(LedgerOfNodesTest, BatchesOfTwoNodesThatCrossDoNotDeadlock) {
    const auto run = [](core::LedgerStore& store, unsigned seed) {
        std::mt19937 random(seed);
        int failed = 0;
        for (int round = 0; round < 60; ++round) {
            std::vector<LedgerChange> changes;
            for (int i = 0; i < 40; ++i)
                changes.emplace_back(admission(std::to_string(random() % 500), random() % 4 == 0));
            std::vector<LedgerChange> ends;
            for (const auto& answer : store.write(changes)) {
                if (!answer)
                    ++failed;
                else if (answer->status == LedgerStatus::kAdmitted && random() % 2 == 0)
                    ends.emplace_back(end_of(*answer, "done"));
                else if (answer->status == LedgerStatus::kAdmitted && random() % 2 == 0)
                    ends.emplace_back(core::LedgerRelease{answer->ref});
            }
            for (const auto& answer : store.write(ends)) failed += answer ? 0 : 1;
        }
        return failed;
    };
    std::array<int, 2> failed{};
    {
        std::jthread first([&] { failed[0] = run(*one, 1); });
        std::jthread second([&] { failed[1] = run(*two, 2); });
    }
    Connection database(options);
    EXPECT_EQ(database
                  .query("SELECT deadlocks FROM pg_stat_database WHERE datname = "
                         "current_database()")
                  .value()[0]
                  .integer(0),
              0);
    // Of a row that the other node has just changed one hears that it is busy; that is rare.
    EXPECT_LT(failed[0] + failed[1], 200);
}

}  // namespace
}  // namespace crab::store::postgres
