#include "store/sqlite/database.hpp"

#include "base/process/subprocess.hpp"
#include "base/process/test_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>

#include <sys/stat.h>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

mode_t mode_of(const std::filesystem::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
}

std::int64_t number(Database& database, std::string_view sql) {
    auto statement = database.query(sql).value();
    EXPECT_TRUE(statement.step().value());
    return statement.integer(0);
}

class DatabaseTest : public testing::Test {
protected:
    Database open(DatabaseOptions options = {}) {
        return std::move(Database::open(path, options).value());
    }

    TestFolder folder;
    std::filesystem::path path = folder / "state/test.db";
};

TEST_F(DatabaseTest, FileAndFolderAreForTheirOwnerOnly) {
    auto database = open();
    ASSERT_TRUE(database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)"));
    EXPECT_EQ(mode_of(path), 0600u);
    EXPECT_EQ(mode_of(path.parent_path()), 0700u);
    EXPECT_EQ(mode_of(path.string() + "-wal"), 0600u);
    EXPECT_EQ(mode_of(path.string() + "-shm"), 0600u);
}

TEST_F(DatabaseTest, ACopyIsTheStateOfOneMomentAndForItsOwnerOnly) {
    auto database = open();
    ASSERT_TRUE(
        database.execute("CREATE TABLE t (a); CREATE VIRTUAL TABLE f USING fts5(text); INSERT INTO "
                         "t VALUES (1); INSERT INTO f VALUES ('kettle')"));
    auto other = open({.check = StartCheck::kNone});
    ASSERT_TRUE(other.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)"));
    ASSERT_TRUE(database.copy_to(folder / "copy.db"));
    ASSERT_TRUE(other.execute("COMMIT"));
    EXPECT_EQ(mode_of(folder / "copy.db"), 0600u);
    auto copy = std::move(Database::open(folder / "copy.db").value());
    EXPECT_EQ(number(copy, "SELECT count(*) FROM t"), 1);
    EXPECT_EQ(number(copy, "SELECT count(*) FROM f WHERE f MATCH 'kettle'"), 1);
    EXPECT_FALSE(database.copy_to(folder / "copy.db")) << "it is there already";
}

TEST_F(DatabaseTest, AFileThatOthersCouldReadIsClosedToThem) {
    open();
    std::filesystem::permissions(path, std::filesystem::perms(0644));
    open();
    EXPECT_EQ(mode_of(path), 0600u);
}

TEST_F(DatabaseTest, ForeignKeysAreOnAndTheJournalIsAWriteAheadLog) {
    auto database = open();
    EXPECT_EQ(number(database, "PRAGMA foreign_keys"), 1);
    EXPECT_EQ(number(database, "PRAGMA synchronous"), 2);
    auto journal = database.query("PRAGMA journal_mode").value();
    ASSERT_TRUE(journal.step().value());
    EXPECT_EQ(journal.text(0), "wal");
}

// POSIX takes all of a process's locks on a file when it closes any descriptor of it; then a
// process that looks in believes to be the last one, and deletes the journal that is still written
// to.
TEST_F(DatabaseTest, AnotherConnectionThatComesAndGoesTakesNoLocksWithIt) {
    auto database = open();
    ASSERT_TRUE(database.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)"));
    open();
    const std::string look =
        "import sqlite3, sys; found = sqlite3.connect(sys.argv[1]); print(found.execute('SELECT "
        "count(*) FROM t').fetchone()[0]); found.close()";
    const auto looked = run_subprocess({.argv = {"python3", "-c", look, path.native()}});
    ASSERT_TRUE(looked) << looked.error().message;
    EXPECT_EQ(looked->output, "1\n") << looked->error_tail;
    EXPECT_TRUE(std::filesystem::exists(path.native() + "-wal"));
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES (2)"));
    EXPECT_EQ(run_subprocess({.argv = {"python3", "-c", look, path.native()}})->output, "2\n");
}

TEST_F(DatabaseTest, ValuesComeBackAsTheyWereBound) {
    auto database = open();
    ASSERT_TRUE(database.execute("CREATE TABLE t (i, t, e, b, n, time)"));
    const std::array<std::uint8_t, 3> bytes{0, 255, 7};
    const SystemTime time{Milliseconds(1'780'000'000'123)};
    ASSERT_TRUE(database.run("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", -5, std::string("a\0b", 3),
                             std::string_view{}, bytes, nullptr, time));
    auto row = database.query("SELECT * FROM t").value();
    ASSERT_TRUE(row.step().value());
    EXPECT_EQ(row.integer(0), -5);
    EXPECT_EQ(row.text(1), std::string("a\0b", 3));
    EXPECT_FALSE(row.is_null(2));
    EXPECT_EQ(row.text(2), "");
    EXPECT_TRUE(std::ranges::equal(row.bytes(3), bytes));
    EXPECT_TRUE(row.is_null(4));
    EXPECT_EQ(row.optional_time(4), std::nullopt);
    EXPECT_EQ(row.time(5), time);
    EXPECT_FALSE(row.step().value());
}

TEST_F(DatabaseTest, AFailedTransactionLeavesNothingAndTheNextOneWorks) {
    auto database = open();
    ASSERT_TRUE(database.execute("CREATE TABLE t (a UNIQUE)"));
    const auto twice = database.transaction([&]() -> Result<void> {
        if (auto done = database.run("INSERT INTO t VALUES (1)"); !done) return done;
        return database.run("INSERT INTO t VALUES (1)");
    });
    EXPECT_EQ(twice.error().code, ErrorCode::kInternal);
    EXPECT_EQ(number(database, "SELECT count(*) FROM t"), 0);
    EXPECT_THROW((void)database.transaction([&]() -> Result<void> {
        (void)database.run("INSERT INTO t VALUES (1)");
        throw std::runtime_error("on the way");
    }),
                 std::runtime_error);
    EXPECT_TRUE(database.transaction([&] { return database.run("INSERT INTO t VALUES (2)"); }));
    EXPECT_EQ(number(database, "SELECT count(*) FROM t"), 1);
}

TEST_F(DatabaseTest, AFullDiskIsUnavailableAndHarmsNothing) {
    auto database = open({.max_pages = 16});
    ASSERT_TRUE(database.execute("CREATE TABLE t (a)"));
    ASSERT_TRUE(database.run("INSERT INTO t VALUES (?)", std::string(4'000, 'x')));
    const auto full = database.run("INSERT INTO t VALUES (?)", std::string(100'000, 'x'));
    EXPECT_EQ(full.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(full.error().message, HasSubstr("full"));
    EXPECT_EQ(number(database, "SELECT count(*) FROM t"), 1);
    EXPECT_TRUE(database.run("INSERT INTO t VALUES (2)"));
}

TEST_F(DatabaseTest, ALockOfAnotherConnectionIsUnavailableAfterTheBusyTimeout) {
    auto first = open();
    auto second = open({.busy_timeout = 1ms});
    const auto blocked =
        first.transaction([&]() -> Result<void> { return second.execute("CREATE TABLE t (a)"); });
    EXPECT_EQ(blocked.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(blocked.error().message, HasSubstr("locked"));
    EXPECT_TRUE(second.execute("CREATE TABLE t (a)"));
}

TEST_F(DatabaseTest, WhatIsNoDatabaseIsRefusedWithWhatToDoAndWithoutItsFolder) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << std::string(8'192, 'x');
    const auto refused = Database::open(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
    EXPECT_THAT(refused.error().message, HasSubstr("test.db"));
    EXPECT_THAT(refused.error().message, HasSubstr("backup"));
    EXPECT_THAT(refused.error().message, Not(HasSubstr("/")));
}

TEST_F(DatabaseTest, ADamagedPageIsFoundAtTheStart) {
    {
        auto database = open();
        ASSERT_TRUE(database.execute("CREATE TABLE t (a); CREATE INDEX i ON t (a)"));
        for (int i = 0; i < 20; ++i)
            ASSERT_TRUE(database.run("INSERT INTO t VALUES (?)", std::string(1'000, 'x')));
        ASSERT_TRUE(database.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    }
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(4096 * 3);
        file << std::string(4096, '\x5a');
    }
    const auto refused = Database::open(path);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("damaged"));
    EXPECT_TRUE(Database::open(path, {.check = StartCheck::kNone}));
}

TEST_F(DatabaseTest, AFolderThatCannotBeMadeIsUnavailable) {
    std::ofstream(folder / "file") << "x";
    EXPECT_EQ(Database::open(folder / "file/sub/test.db").error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(Database::open(folder / "").error().code, ErrorCode::kUnavailable);
}

constexpr std::array<std::string_view, 2> kSteps{"CREATE TABLE t (a); INSERT INTO t VALUES (1)",
                                                 "ALTER TABLE t ADD COLUMN b DEFAULT 7"};

TEST_F(DatabaseTest, MigrationsRunOnceInOrderFromWhereTheFileIs) {
    {
        auto database = open();
        ASSERT_TRUE(database.migrate("test", std::span(kSteps).first(1)));
        EXPECT_FALSE(database.prepare("SELECT b FROM t"));
    }
    auto database = open();
    ASSERT_TRUE(database.migrate("test", kSteps));
    ASSERT_TRUE(database.migrate("test", kSteps));
    EXPECT_EQ(number(database, "SELECT a * 10 + b FROM t"), 17);
    EXPECT_EQ(number(database, "SELECT count(*) FROM t"), 1);
}

TEST_F(DatabaseTest, AFailedMigrationChangesNothing) {
    auto database = open();
    constexpr std::array<std::string_view, 2> broken{kSteps[0], "ALTER TABLE nowhere ADD COLUMN b"};
    EXPECT_FALSE(database.migrate("test", broken));
    EXPECT_FALSE(database.prepare("SELECT a FROM t"));
    EXPECT_TRUE(database.migrate("test", kSteps));
}

TEST_F(DatabaseTest, ANewerVersionIsRefusedUntouched) {
    auto database = open();
    ASSERT_TRUE(database.migrate("test", kSteps));
    const auto refused = database.migrate("test", std::span(kSteps).first(1));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("has version 2, this program knows 1"));
    EXPECT_TRUE(database.migrate("other", std::array<std::string_view, 1>{"CREATE TABLE o (a)"}));
}

TEST_F(DatabaseTest, ADatabaseInMemoryNeedsNoFile) {
    auto database = std::move(Database::open(":memory:").value());
    EXPECT_TRUE(database.migrate("test", kSteps));
}

}  // namespace
}  // namespace crab::store::sqlite
