#include "store/sqlite/ledger_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "core/ledger/test_ledger_steps.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using core::LedgerAdmission;
using core::LedgerChange;
using core::LedgerEntry;
using core::LedgerStatus;
using core::ok;
using core::Outcome;

struct LedgerStoreSqliteTest : testing::Test, core::LedgerStoreSteps {
    LedgerStoreSqliteTest() { store = open(); }
    ~LedgerStoreSqliteTest() override { store.reset(); }  // before its folder goes
    TestFolder folder;

    std::unique_ptr<LedgerStoreSqlite> open(DatabaseOptions options = {}) {
        auto opened = LedgerStoreSqlite::open(folder / "ledger.db", options);
        EXPECT_TRUE(opened) << opened.error().message;
        return std::move(*opened);
    }
    /// As after a crash: another connection, while the first has not been closed.
    void start_again() {
        store.reset();
        store = open();
    }
};

/// A file as the program before the SHA-256 digests left it.
void write_old_ledger(const std::filesystem::path& path) {
    constexpr std::array<std::string_view, 2> kOldSchema{
        R"(
        CREATE TABLE ledger (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL,)"
        R"( principal TEXT NOT NULL, key TEXT NOT NULL, content INTEGER NOT NULL,
                             admitted_ms INTEGER NOT NULL, record TEXT, UNIQUE (tenant, principal,)"
        R"( key)) STRICT;
        CREATE TABLE ledger_end (number INTEGER PRIMARY KEY, duration_us INTEGER NOT NULL,)"
        R"( code TEXT, kind INTEGER NOT NULL, first BLOB NOT NULL, second BLOB NOT NULL,
                                 logs TEXT NOT NULL, retryable INTEGER, retry_after_ms INTEGER,)"
        R"( cpu_ms INTEGER NOT NULL, wall_ms INTEGER NOT NULL, peak_memory INTEGER NOT NULL) STRICT;
        CREATE TABLE ledger_told (only INTEGER PRIMARY KEY CHECK (only = 1),)"
        R"( number INTEGER NOT NULL) STRICT;
        INSERT INTO ledger_told VALUES (1, 0);
    )",
        "ALTER TABLE ledger ADD COLUMN event TEXT; ALTER TABLE ledger ADD COLUMN addressee TEXT;"};
    Database old = std::move(Database::open(path).value());
    ASSERT_TRUE(old.migrate("ledger", kOldSchema));
    for (const auto& [number, key] : {std::pair(1, "open"), std::pair(2, "ended")}) {
        ASSERT_TRUE(
            old.run("INSERT INTO ledger (number, tenant, principal, key, content, admitted_ms, "
                    "record) VALUES (?, 'acme', 'ann', ?, 1, ?, 'record')",
                    std::int64_t{number}, std::string_view(key), core::kFirstAdmissionAt));
    }
    ASSERT_TRUE(old.execute(
        "INSERT INTO ledger_end VALUES (2, 7, NULL, 0, x'61', x'', '[]', NULL, NULL, 0, 0, 0)"));
}

TEST_F(LedgerStoreSqliteTest, WhatAnOlderProgramRecordedEqualsNothing) {
    store.reset();
    std::filesystem::remove(folder / "ledger.db");
    write_old_ledger(folder / "ledger.db");
    store = open();
    LedgerAdmission again = admission("open");
    for (const bool idempotent : {false, true}) {
        again.may_run_again = idempotent;
        EXPECT_EQ(write(again)->status, LedgerStatus::kIncomparable);
    }
    EXPECT_EQ(admit("ended").status, LedgerStatus::kIncomparable);
    EXPECT_EQ(admit("ended").outcome, nullptr);
    EXPECT_EQ(admit("ended", 2).status, LedgerStatus::kIncomparable);
    EXPECT_EQ(store->unfinished().value().size(), 2u)
        << "what the audit log may lack is still told";
    EXPECT_EQ(admit("new").status, LedgerStatus::kAdmitted);
    now += 25h;
    EXPECT_EQ(admit("ended").status, LedgerStatus::kAdmitted) << "old entries do not count";
}

TEST_F(LedgerStoreSqliteTest, ADigestIsStoredWithItsKind) {
    admit("k");
    store.reset();
    Database file = std::move(Database::open(folder / "ledger.db").value());
    auto row = std::move(file.query("SELECT digest FROM ledger").value());
    ASSERT_TRUE(row.step().value());
    EXPECT_EQ(row.text(0), core::to_stored(crypto::sha256("1")));
    EXPECT_TRUE(row.text(0).starts_with("sha256:"));
}

TEST_F(LedgerStoreSqliteTest, AFullDiskRefusesTheWholeCommitAndWhatWasWrittenBeforeStays) {
    const LedgerEntry first = admit("first");
    store.reset();
    store = open({.max_pages = 12});
    std::vector<LedgerChange> many{core::LedgerEnd{first.ref, ok(std::string(10'000, 'x')), 1ms}};
    for (int i = 0; i < 200; ++i)
        many.emplace_back(admission("key-" + std::string(100, 'x') + std::to_string(i)));
    const auto answers = store->write(many);
    ASSERT_EQ(answers.size(), many.size());
    for (const auto& answer : answers) {
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    }
    EXPECT_EQ(admit("first").status, LedgerStatus::kOpen);
    EXPECT_EQ(admit("small").status, LedgerStatus::kAdmitted);
}

TEST_F(LedgerStoreSqliteTest, AFileLeftByACrashIsReadUpToItsLastWholeCommit) {
    end(admit("k"), ok("done"));
    admit("open");
    // What a crash leaves: the file, and a write-ahead log that was not folded into it and whose
    // last commit is torn.
    const TestFolder crashed;
    for (const char* name : {"ledger.db", "ledger.db-wal"})
        std::filesystem::copy_file(folder / name, crashed / name);
    admit("after the copy");
    const auto size = std::filesystem::file_size(folder / "ledger.db-wal");
    std::filesystem::copy_file(folder / "ledger.db-wal", crashed / "ledger.db-wal",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(crashed / "ledger.db-wal", size - 100);
    store = std::move(LedgerStoreSqlite::open(crashed / "ledger.db").value());
    EXPECT_EQ(admit("k").status, LedgerStatus::kFinished);
    EXPECT_EQ(admit("open").status, LedgerStatus::kOpen);
    EXPECT_EQ(admit("after the copy").status, LedgerStatus::kAdmitted);
}

TEST_F(LedgerStoreSqliteTest, ADamagedFileIsRefused) {
    admit_many(300);
    store.reset();
    {
        std::fstream file(folder / "ledger.db", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(8'192);
        file << std::string(8'192, 'x');
    }
    const auto opened = LedgerStoreSqlite::open(folder / "ledger.db");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace crab::store::sqlite
