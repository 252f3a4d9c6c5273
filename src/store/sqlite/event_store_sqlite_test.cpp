#include "store/sqlite/event_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "core/events/test_event_steps.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using core::CallStep;
using core::EventPosition;
using core::EventReceipt;
using core::EventStatus;
using core::EventType;
using core::NewEvent;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct EventStoreSqliteTest : testing::Test, core::EventStoreSteps {
    EventStoreSqliteTest() { store = open(); }
    ~EventStoreSqliteTest() override { store.reset(); }  // before its folder goes
    TestFolder folder;

    std::unique_ptr<EventStoreSqlite> open(DatabaseOptions options = {}) {
        auto opened = EventStoreSqlite::open(folder / "events.db", options);
        EXPECT_TRUE(opened) << opened.error().message;
        return std::move(*opened);
    }
    void start_again() {
        store.reset();
        store = open();
    }
};

TEST_F(EventStoreSqliteTest, WhatAnOlderProgramSawIsAConflictAndNotTheSame) {
    store.reset();
    std::filesystem::remove(folder / "events.db");
    {
        constexpr std::array<std::string_view, 1> kOldSchema{R"(
            CREATE TABLE event_outbox (
                position INTEGER PRIMARY KEY,
                at_ms INTEGER NOT NULL,
                type TEXT NOT NULL,
                step INTEGER NOT NULL,
                request TEXT,
                event_id TEXT NOT NULL,
                tenant TEXT NOT NULL,
                agent_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                addressee TEXT NOT NULL,
                envelope TEXT NOT NULL
            ) STRICT;
            CREATE TABLE event_mark (
                only INTEGER PRIMARY KEY CHECK (only = 1),
                next INTEGER NOT NULL,
                open_from INTEGER NOT NULL
            ) STRICT;
            INSERT INTO event_mark VALUES (1, 1, 1);
            CREATE TABLE event_seen (
                publisher TEXT NOT NULL,
                id TEXT NOT NULL,
                content INTEGER NOT NULL,
                event_id TEXT NOT NULL,
                position INTEGER NOT NULL,
                PRIMARY KEY (publisher, id)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX event_seen_position ON event_seen (position);
            CREATE TABLE event_doubt (
                tenant TEXT NOT NULL,
                call_id TEXT NOT NULL,
                addressee TEXT NOT NULL,
                position INTEGER NOT NULL,
                PRIMARY KEY (tenant, call_id, addressee)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE event_subscription (
                peer TEXT NOT NULL,
                name TEXT NOT NULL,
                acknowledged INTEGER NOT NULL,
                types TEXT NOT NULL,
                seen_ms INTEGER NOT NULL,
                PRIMARY KEY (peer, name)
            ) STRICT, WITHOUT ROWID;
        )"};
        Database old = std::move(Database::open(folder / "events.db").value());
        ASSERT_TRUE(old.migrate("event", kOldSchema));
        ASSERT_TRUE(
            old.execute("INSERT INTO event_seen VALUES ('listener/mail', 'eone', 1, 'one', 1)"));
    }
    store = open();
    EXPECT_EQ(append(published("one")).status, EventStatus::kConflict);
    EXPECT_EQ(append(published("two")).status, EventStatus::kAccepted);
    EXPECT_EQ(append(published("two")).status, EventStatus::kDuplicate);
}

TEST_F(EventStoreSqliteTest, AFullDiskRefusesTheWholeCommitAndLeavesTheAccountOfCallsAsItWas) {
    append(requested("a"));
    append(requested("b"));
    store.reset();
    store = open({.max_pages = 20});
    std::vector<NewEvent> many{ended("a"), requested("c")};
    for (int i = 0; i < 100; ++i) many.push_back(event(std::to_string(i), std::string(4'000, 'x')));
    for (const auto& receipt : store->append(many, now)) {
        ASSERT_FALSE(receipt);
        EXPECT_EQ(receipt.error().code, ErrorCode::kUnavailable);
    }
    EXPECT_THAT(open_ids(), ElementsAre("a", "b"));
    EXPECT_THAT(ids(), ElementsAre("a", "b"));
    EXPECT_EQ(append(ended("b")).position, 3) << "no position is left out";
    start_again();
    EXPECT_THAT(open_ids(), ElementsAre("a"));
}

TEST_F(EventStoreSqliteTest, WhatWasAnsweredIsThereAfterTheProcessWasKilled) {
    store.reset();
    int answers[2];
    ASSERT_EQ(::pipe(answers), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        auto mine = std::move(EventStoreSqlite::open(folder / "events.db").value());
        for (int i = 0;; ++i) {
            const auto receipts =
                mine->append({requested(std::to_string(2 * i)), ended(std::to_string(2 * i)),
                              requested(std::to_string(2 * i + 1))},
                             core::kFirstEventAt);
            const EventPosition last = receipts.back()->position;
            if (::write(answers[1], &last, sizeof last) != sizeof last) ::_exit(1);
        }
    }
    EventPosition last = 0;
    for (int i = 0; i < 50; ++i)
        ASSERT_EQ(::read(answers[0], &last, sizeof last), static_cast<ssize_t>(sizeof last));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(answers[1]);
    for (EventPosition more = 0;
         ::read(answers[0], &more, sizeof more) == static_cast<ssize_t>(sizeof more);)
        last = more;
    ::close(answers[0]);
    store = open();
    const auto bounds = store->bounds().value();
    EXPECT_GE(bounds.last, last);
    EXPECT_EQ(bounds.last % 3, 0) << "a commit is there as a whole or not at all";
    EXPECT_EQ(store->open_calls()->size(), static_cast<std::size_t>(bounds.last / 3));
}

TEST_F(EventStoreSqliteTest, ADamagedFileIsRefused) {
    append_many(100, 1'000);
    store.reset();
    {
        std::fstream file(folder / "events.db", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(8'192);
        file << std::string(4'096, '\xff');
    }
    const auto opened = EventStoreSqlite::open(folder / "events.db");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace crab::store::sqlite
