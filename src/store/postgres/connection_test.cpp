#include "store/postgres/connection.hpp"

#include "base/encoding.hpp"
#include "base/scope_exit.hpp"
#include "store/postgres/test_cluster.hpp"

#include <gtest/gtest.h>

namespace crab::store::postgres {
namespace {

using namespace std::chrono_literals;

struct DatabaseConnectionTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
    }
    ConnectionOptions options;
};

TEST_F(DatabaseConnectionTest, ValuesComeBackAsTheyWent) {
    Connection database(options);
    const std::string bytes("\0\xff'\\\"", 5), text = "{a,\"b\"}, \\ 'c' é\n";
    Array texts, parts;
    texts.add(text);
    texts.add("");
    texts.add("NULL");
    texts.add_null();
    parts.add_bytes(bytes_of(bytes));
    const SystemTime time{1'780'000'000'123ms};
    const auto rows =
        database
            .query(
                "SELECT $1::bigint, $2::text, $3::bytea, $4::bool, $5::bigint, $6::bigint, "
                "($7::text[])[1], ($7::text[])[2], ($7::text[])[3], ($7::text[])[4] IS NULL, "
                "($8::bytea[])[1]",
                std::int64_t{-7}, text, bytes_of(bytes), true, time, std::optional<SystemTime>(),
                texts, parts)
            .value();
    const auto row = rows[0];
    EXPECT_EQ(row.integer(0), -7);
    EXPECT_EQ(row.text(1), text);
    EXPECT_EQ(row.bytes(2), bytes);
    EXPECT_TRUE(row.boolean(3));
    EXPECT_EQ(row.time(4), time);
    EXPECT_EQ(row.optional_time(5), std::nullopt);
    EXPECT_EQ(row.text(6), text);
    EXPECT_EQ(row.text(7), "");
    EXPECT_EQ(row.text(8), "NULL");
    EXPECT_TRUE(row.boolean(9));
    EXPECT_EQ(row.bytes(10), bytes);
}

TEST_F(DatabaseConnectionTest, TextThatCannotBeStoredIsRefused) {
    Connection database(options);
    for (const std::string& bad : {std::string("a\0b", 3), std::string("a\xff")})
        EXPECT_EQ(database.run("SELECT $1::text", bad).error().code, ErrorCode::kInvalidArgs);
    EXPECT_TRUE(database.run("SELECT $1::text", "good")) << "the connection goes on";
}

TEST_F(DatabaseConnectionTest, AFailureRollsBackAndTheConnectionGoesOn) {
    Connection database(options);
    ASSERT_TRUE(database.execute("CREATE TABLE t (x int PRIMARY KEY)"));
    const auto failed = database.transaction([&]() -> Result<void> {
        if (auto done = database.run("INSERT INTO t VALUES (1)"); !done) return done;
        return database.run("INSERT INTO t VALUES (1)");
    });
    EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
    EXPECT_EQ(database.query("SELECT count(*) FROM t").value()[0].integer(0), 0);
}

TEST_F(DatabaseConnectionTest, AServerThatIsNotThereIsUnavailableAndTheAddressIsNotRepeated) {
    Connection nobody({.dsn = "host=/nonexistent password=hidden"});
    const Error error = nobody.run("SELECT 1").error();
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_EQ(error.message.find("hidden"), std::string::npos);
}

TEST_F(DatabaseConnectionTest, ASessionThatTheServerEndsIsUnavailableAndThenANewOne) {
    Connection database(options), other(options);
    ASSERT_TRUE(database.connect());
    const auto pid = database.query("SELECT pg_backend_pid()").value()[0].integer(0);
    const auto cut = [&] { return other.run("SELECT pg_terminate_backend($1::int, 5000)", pid); };
    ASSERT_TRUE(cut());
    EXPECT_EQ(database.run("SELECT 1").error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(database.run("SELECT 1"));
}

TEST_F(DatabaseConnectionTest, ATransactionWhoseSessionEndsFailsAsAWhole) {
    Connection database(options), other(options);
    ASSERT_TRUE(database.execute("CREATE TABLE t (x int)"));
    const auto failed = database.transaction([&]() -> Result<void> {
        const auto pid = database.query("SELECT pg_backend_pid()").value()[0].integer(0);
        EXPECT_TRUE(other.run("SELECT pg_terminate_backend($1::int, 5000)", pid));
        EXPECT_FALSE(database.run("INSERT INTO t VALUES (1)"));
        return database.run("INSERT INTO t VALUES (2)");
    });
    EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(other.query("SELECT count(*) FROM t").value()[0].integer(0), 0);
}

TEST_F(DatabaseConnectionTest, AnAnswerThatDoesNotComeInTimeClosesTheConnection) {
    options.limit = 50ms;
    Connection database(options);
    EXPECT_EQ(database.run("SELECT pg_sleep(60)").error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(database.is_lost());
    EXPECT_TRUE(database.run("SELECT 1"));
}

/// The wait for a standby that is ended by a cancel is a commit with a warning.
TEST_F(DatabaseConnectionTest, ACommitThatNoStandbyHasConfirmedIsAFailure) {
    Connection other(options);
    ASSERT_TRUE(other.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'"));
    const ScopeExit as_before([&] {
        EXPECT_TRUE(other.execute("ALTER SYSTEM RESET synchronous_standby_names"));
        EXPECT_TRUE(other.execute("SELECT pg_reload_conf()"));
    });
    ASSERT_TRUE(other.execute("SELECT pg_reload_conf()"));
    Connection database(options);
    ASSERT_TRUE(database.connect());
    const auto pid = database.query("SELECT pg_backend_pid()").value()[0].integer(0);
    const auto waits = [&] {
        return other
            .query("SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $1::int", pid)
            .value()[0]
            .boolean(0);
    };
    std::jthread canceller([&] {
        while (!waits()) std::this_thread::yield();
        EXPECT_TRUE(other.run("SELECT pg_cancel_backend($1::int)", pid));
    });
    const auto committed = database.transaction(
        [&] { return database.run("SELECT pg_logical_emit_message(true, 'crab', '')"); });
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(database.is_lost());
}

}  // namespace
}  // namespace crab::store::postgres
