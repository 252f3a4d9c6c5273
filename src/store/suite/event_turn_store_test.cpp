#include "core/events/event_turn_store.hpp"
#include "base/test_clock.hpp"
#include "store/suite/test_engine.hpp"

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using namespace std::chrono_literals;

class EventTurnStoreTest : public StoreSuite {
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
    std::unique_ptr<core::EventTurnStore> open() {
        return engine().records().open_event_turns().value();
    }

    FakeClock clock;
    std::unique_ptr<core::EventTurnStore> store = open();
};

TEST_P(EventTurnStoreTest, AnEventIsClaimedOnceByEachAgentAlsoAfterARestart) {
    EXPECT_TRUE(store->claim(turn("e1"), 7).value());
    EXPECT_TRUE(store->claim(turn("e1", "cook"), 7).value());
    store = open();
    EXPECT_TRUE(store->hold("butler").value()) << "there is nobody else";
    EXPECT_FALSE(store->claim(turn("e1"), 7).value());
    EXPECT_TRUE(store->claim(turn("e2"), 8).value());
}

TEST_P(EventTurnStoreTest, TheClaimMovesThePositionOfItsAgent) {
    EXPECT_EQ(store->position("butler").value(), std::nullopt);
    (void)store->claim(turn("e1"), 7);
    store = open();
    EXPECT_EQ(store->position("butler").value(), 7);
    EXPECT_EQ(store->position("cook").value(), std::nullopt);
    EXPECT_TRUE(store->advance("butler", 9));
    EXPECT_EQ(store->position("butler").value(), 9);
}

TEST_P(EventTurnStoreTest, WhatHasNoEndIsOpenAlsoAfterARestart) {
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

TEST_P(EventTurnStoreTest, TheLatestComeFirstAndOldOnesAreForgotten) {
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

CRAB_EACH_ENGINE(EventTurnStoreTest);

}  // namespace
}  // namespace crab::store
