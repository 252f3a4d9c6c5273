#include "core/events/test_event_steps.hpp"
#include "store/suite/test_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::store {
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

struct EventStoreTest : StoreSuite, core::EventStoreSteps {
    EventStoreTest() { store = open(); }

    std::unique_ptr<core::EventStore> open() {
        auto opened = engine().records().open_events();
        EXPECT_TRUE(opened) << opened.error().message;
        return std::move(*opened);
    }
    void start_again() {
        store.reset();
        store = open();
    }
};

TEST_P(EventStoreTest, EventsComeBackAsTheyWereInTheirOrderAndAfterAStart) {
    NewEvent one = requested("one", "tool_host/east");
    one.event.envelope = R"({"text":"ü"})";
    EXPECT_EQ(append(one).position, 1);
    now += 1s;
    EXPECT_EQ(append(event("two")).position, 2);
    start_again();
    EXPECT_EQ(append(event("three")).position, 3);
    EXPECT_THAT(ids(), ElementsAre("one", "two", "three"));
    EXPECT_THAT(ids(1, 1), ElementsAre("two"));
    const auto stored = store->read(0, 1, 1 << 20).value().front();
    EXPECT_EQ(stored.position, 1);
    EXPECT_EQ(stored.at, core::kFirstEventAt);
    EXPECT_EQ(stored.event.type, EventType::kCronTriggered);
    EXPECT_EQ(stored.event.tenant, "acme");
    EXPECT_EQ(stored.event.agent_id, "butler");
    EXPECT_EQ(stored.event.session_id, "s1");
    EXPECT_EQ(stored.event.addressee, "tool_host/east");
    EXPECT_EQ(stored.event.envelope, one.event.envelope);
}

TEST_P(EventStoreTest, ReadingEndsWithTheEventThatFillsItsBytes) {
    append_many(10, 1'000);
    EXPECT_EQ(store->read(0, 100, 2'500).value().size(), 3U);
}

TEST_P(EventStoreTest, ARepeatIsFoundByIdAndByKeyAlsoAfterAStartAndOnlyForItsPublisher) {
    EXPECT_EQ(append(published("one", "k")).status, EventStatus::kAccepted);
    start_again();
    for (const NewEvent& again : {published("one"), published("one", "k"), published("two", "k")}) {
        const EventReceipt receipt = append(again);
        EXPECT_EQ(receipt.status, EventStatus::kDuplicate);
        EXPECT_EQ(receipt.event_id, "one");
    }
    EXPECT_EQ(append(published("one", {}, 2)).status, EventStatus::kConflict);
    EXPECT_EQ(append(published("three", "k", 2)).status, EventStatus::kConflict);
    EXPECT_EQ(append(published("one", "k", 2, "listener/chat")).status, EventStatus::kAccepted);
    EXPECT_EQ(append(published("k")).status, EventStatus::kAccepted) << "an id is no key";
    EXPECT_EQ(ids().size(), 3U);
}

TEST_P(EventStoreTest, RepeatsInOneCommitAreFoundToo) {
    const auto receipts = store->append(
        {published("one", "k"), published("one", "k"), published("two", "k", 2)}, now);
    EXPECT_EQ(receipts[0]->status, EventStatus::kAccepted);
    EXPECT_EQ(receipts[1]->status, EventStatus::kDuplicate);
    EXPECT_EQ(receipts[2]->status, EventStatus::kConflict);
}

TEST_P(EventStoreTest, AStartFindsTheCallsThatHaveNoEnd) {
    append(requested("a"));
    append(requested("b"));
    append(ended("a"));
    append(requested("c"));
    EXPECT_THAT(open_ids(), ElementsAre("b", "c"));
    start_again();
    EXPECT_THAT(open_ids(), ElementsAre("b", "c"));
    append(ended("c"));
    append(ended("b"));
    start_again();
    EXPECT_THAT(open_ids(), IsEmpty());
}

TEST_P(EventStoreTest, RequestsAreFoundFromATimeOnWhetherOrNotTheyHaveEnded) {
    append(requested("long ago"));
    now += 1h;
    append(requested("a"));
    append(ended("a"));
    append(event("other"));
    append(requested("b"));
    EXPECT_THAT(store->requests_since(now - 1s).value(), UnorderedElementsAre("a", "b"));
    EXPECT_THAT(store->requests_since(now + 1s).value(), IsEmpty());
}

TEST_P(EventStoreTest, AHostSettlesACallOfItsOwnWhoseOutcomeIsUnknownOnce) {
    append(requested("a", "tool_host/east"));
    EXPECT_EQ(append(settles("tool_host/east")).status, EventStatus::kDropped)
        << "it has not ended yet";
    append(ended("a", CallStep::kEndedUnknown, "tool_host/east"));
    start_again();
    EXPECT_EQ(append(settles("tool_host/west")).status, EventStatus::kDropped);
    EXPECT_EQ(append(settles("tool_host/east")).status, EventStatus::kAccepted);
    NewEvent again = settles("tool_host/east");
    EXPECT_EQ(append(again).status, EventStatus::kDuplicate);
    again.event.event_id = "another word";
    EXPECT_EQ(append(again).status, EventStatus::kDropped);
}

TEST_P(EventStoreTest, SubscriptionsAreRemembered) {
    ASSERT_TRUE(store->remember({{.peer = "subscriber/log",
                                  .name = "a",
                                  .acknowledged = 1,
                                  .types = "cron.*",
                                  .seen = now}}));
    ASSERT_TRUE(store->remember(
        {{.peer = "subscriber/log", .name = "a", .acknowledged = 7, .types = "", .seen = now + 1s},
         {.peer = "subscriber/log", .name = "", .acknowledged = 2, .types = "a", .seen = now}}));
    start_again();
    const auto known = store->subscriptions().value();
    ASSERT_EQ(known.size(), 2U);
    EXPECT_EQ(known[0].name, "");
    EXPECT_EQ(known[0].types, "a");
    EXPECT_EQ(known[1].acknowledged, 7);
    EXPECT_EQ(known[1].seen, now + 1s);
}

TEST_P(EventStoreTest, WhatIsOldGoesAThousandAtATimeAndPositionsGoOn) {
    append_many(1'200);
    ASSERT_TRUE(
        store->remember({{.peer = "p", .name = "", .acknowledged = 1, .types = "", .seen = now}}));
    now += 1h;
    append(published("young", "k"));
    EXPECT_EQ(store->forget(core::kFirstEventAt, 1 << 30)->first, 1) << "not older";
    EXPECT_EQ(store->forget(core::kFirstEventAt + 1ms, 1 << 30)->first, 1'001);
    const auto left = store->forget(core::kFirstEventAt + 1ms, 1 << 30).value();
    EXPECT_EQ(left.first, 1'201);
    EXPECT_EQ(left.last, 1'201);
    EXPECT_EQ(left.oldest, now);
    EXPECT_THAT(store->subscriptions().value(), IsEmpty());
    EXPECT_EQ(append(published("young", "k")).status, EventStatus::kDuplicate);
    EXPECT_EQ(store->forget(now + 1ms, 1 << 30)->first, 1'202);
    start_again();
    EXPECT_EQ(store->bounds()->last, 1'201) << "also when nothing is left";
    EXPECT_EQ(append(published("young", "k")).status, EventStatus::kAccepted)
        << "forgotten with the event";
    EXPECT_THAT(ids(1'201), ElementsAre("young"));
}

TEST_P(EventStoreTest, WhatIsTooMuchGoesFromTheBeginning) {
    append_many(500, 4'000);
    const std::uint64_t most = store->bounds()->bytes / 2;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->forget(SystemTime(), most));
    const auto left = store->bounds().value();
    EXPECT_LE(left.bytes, most + 100'000);
    EXPECT_GT(left.first, 200);
    EXPECT_LT(left.first, 320);
    EXPECT_EQ(left.last, 500);
}

CRAB_EACH_ENGINE(EventStoreTest);

}  // namespace
}  // namespace crab::store
