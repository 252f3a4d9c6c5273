#include "store/sqlite/event_turn_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "base/test_clock.hpp"

#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;

class EventTurnStoreSqliteTest : public testing::Test {
protected:
    core::EventTurn turn(std::string event_id, std::string agent = "butler") {
        const SystemTime now = std::chrono::floor<Milliseconds>(clock.system_now());
        return {.turn_id = agent + event_id,
                .agent = agent,
                .event_id = std::move(event_id),
                .event_type = "cron.triggered",
                .session = ChatSessionId("agent-butler"),
                .begun = now};
    }
    std::unique_ptr<EventTurnStoreSqlite> open() {
        return std::move(EventTurnStoreSqlite::open(folder / "agents.db").value());
    }

    FakeClock clock;
    TestFolder folder;
    std::unique_ptr<EventTurnStoreSqlite> store = open();
};

TEST_F(EventTurnStoreSqliteTest, AnEventIsClaimedOnceByEachAgentAlsoAfterARestart) {
    EXPECT_TRUE(store->claim(turn("e1"), 7).value());
    EXPECT_TRUE(store->claim(turn("e1", "cook"), 7).value());
    store = open();
    EXPECT_FALSE(store->claim(turn("e1"), 7).value());
    EXPECT_TRUE(store->claim(turn("e2"), 8).value());
}

TEST_F(EventTurnStoreSqliteTest, TheClaimMovesThePositionOfItsAgent) {
    EXPECT_EQ(store->position("butler").value(), std::nullopt);
    (void)store->claim(turn("e1"), 7);
    store = open();
    EXPECT_EQ(store->position("butler").value(), 7);
    EXPECT_EQ(store->position("cook").value(), std::nullopt);
    EXPECT_TRUE(store->advance("butler", 9));
    EXPECT_EQ(store->position("butler").value(), 9);
}

TEST_F(EventTurnStoreSqliteTest, WhatHasNoEndIsOpenAlsoAfterARestart) {
    (void)store->claim(turn("e1"), 1);
    (void)store->claim(turn("e2"), 2);
    ASSERT_TRUE(store->finish("butlere1", "answer", clock.system_now()));
    store = open();
    const auto open_turns = store->open_turns().value();
    ASSERT_EQ(open_turns.size(), 1u);
    EXPECT_EQ(open_turns[0].event_id, "e2");
    ASSERT_TRUE(store->finish("butlere2", "OUTCOME_UNKNOWN", clock.system_now()));
    EXPECT_TRUE(store->open_turns().value().empty());
}

TEST_F(EventTurnStoreSqliteTest, TheLatestComeFirstAndOldOnesAreForgotten) {
    (void)store->claim(turn("e1"), 1);
    ASSERT_TRUE(store->finish("butlere1", "answer", clock.system_now()));
    clock.advance(1h);
    (void)store->claim(turn("e2"), 2);
    const auto latest = store->latest(10).value();
    ASSERT_EQ(latest.size(), 2u);
    EXPECT_EQ(latest[0].event_id, "e2");
    EXPECT_EQ(latest[1].end, "answer");
    ASSERT_TRUE(store->forget(clock.system_now()));
    EXPECT_EQ(store->latest(10).value().size(), 1u);
}

}  // namespace
}  // namespace crab::store::sqlite
