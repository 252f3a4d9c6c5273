#include "core/events/event_outbox.hpp"

#include "base/task/test_loop.hpp"
#include "core/events/event_subscriptions.hpp"
#include "core/events/test_event_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::core {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

struct EventOutboxTest : testing::Test {
    TestLoop loop;
    BlockingPool writer{1}, pool{1};
    EventStoreMemory store;
    std::unique_ptr<EventOutbox> outbox = open();

    std::unique_ptr<EventOutbox> open(EventOutbox::Options options = {}) {
        return std::move(EventOutbox::open(store, writer, pool, loop.clock, options).value());
    }
    static NewEvent event(std::string id, std::string envelope = "{}") {
        NewEvent made;
        made.event.event_id = std::move(id);
        made.event.envelope = std::move(envelope);
        return made;
    }
    Result<EventReceipt> publish(NewEvent one) {
        return loop.run(outbox->publish(std::move(one), kNoDeadline));
    }
    std::vector<std::string> read(EventPosition after, std::size_t most = 100) {
        std::vector<std::string> ids;
        const auto events = loop.run(outbox->read(after, most));
        if (!events) return {std::string(token_of(events.error().code))};
        for (const auto& stored : *events) ids.push_back(stored->event.event_id);
        return ids;
    }
    void wait_for(EventPosition last) {
        while (outbox->last() < last) std::this_thread::yield();
    }
};

TEST_F(EventOutboxTest, WhatIsPublishedAndPostedIsReadInOneOrder) {
    outbox->post(event("one"));
    EXPECT_EQ(publish(event("two"))->position, 2);
    outbox->post_owed(event("three"));
    wait_for(3);
    EXPECT_THAT(read(0), ElementsAre("one", "two", "three"));
    EXPECT_THAT(read(1, 1), ElementsAre("two"));
    EXPECT_THAT(read(3), IsEmpty());
    EXPECT_EQ(store.reads(), 0U) << "from memory";
    EXPECT_EQ(outbox->accepted(), 3U);
}

TEST_F(EventOutboxTest, OlderEventsAreReadFromTheStoreAfterAStartToo) {
    outbox = open({.recent_bytes = 10});
    for (const char* id : {"one", "two", "three"}) publish(event(id, "0123456789"));
    EXPECT_THAT(read(0), ElementsAre("one", "two", "three"));
    EXPECT_EQ(store.reads(), 1U);
    EXPECT_THAT(read(2), ElementsAre("three"));
    EXPECT_EQ(store.reads(), 1U);
    outbox = open();
    EXPECT_EQ(outbox->last(), 3);
    EXPECT_THAT(read(1), ElementsAre("two", "three"));
}

TEST_F(EventOutboxTest, ASleeperWakesWithTheNextCommitAndDoesNotMissTheOneBefore) {
    const auto notifier = std::make_shared<EventNotifier>(loop.executor(), loop.timers);
    outbox->add(notifier);
    auto sleeping = loop.start(outbox->sleep(*notifier, 0, kNoDeadline));
    EXPECT_FALSE(sleeping->ended());
    publish(event("one"));
    ASSERT_TRUE(loop.run_until([&] { return sleeping->ended(); }));
    EXPECT_EQ(sleeping->get(), WaitEnd::kWoken);
    EXPECT_TRUE(loop.start(outbox->sleep(*notifier, 0, kNoDeadline))->ended())
        << "there is more already";
    auto late = loop.start(outbox->sleep(*notifier, 1, loop.in(1s)));
    loop.advance(1s + TimerWheel::kTick);
    EXPECT_EQ(late->get(), WaitEnd::kExpired);
}

TEST_F(EventOutboxTest, ADiskThatIsFullRefusesPublishersAndLosesWhatWasPosted) {
    store.set_failing(true);
    EXPECT_EQ(publish(event("one")).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(outbox->failing());
    outbox->post(event("two"));
    while (outbox->lost() == 0) std::this_thread::yield();
    store.set_failing(false);
    EXPECT_TRUE(publish(event("three")));
    EXPECT_FALSE(outbox->failing());
    EXPECT_THAT(read(0), ElementsAre("three"));
}

TEST_F(EventOutboxTest, WhatWasPostedWhileAFleetsStoreIsAwayIsSentAgainInItsOrder) {
    outbox = open({.max_waiting_bytes = 10'000, .keep_posted = true});
    store.set_failing(true);
    EXPECT_EQ(publish(event("refused")).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(outbox->post(event("one", std::string(6'000, 'x'))));
    EXPECT_EQ(publish(event("refused")).error().code, ErrorCode::kUnavailable);
    EXPECT_FALSE(outbox->post(event("too much", std::string(6'000, 'x'))));
    outbox->post_owed(event("two"));
    EXPECT_EQ(publish(event("refused")).error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(outbox->look_for_others());
    EXPECT_EQ(publish(event("refused")).error().code, ErrorCode::kUnavailable);
    store.set_failing(false);
    EXPECT_TRUE(outbox->look_for_others());
    wait_for(2);
    EXPECT_TRUE(publish(event("three")));
    EXPECT_THAT(read(0), ElementsAre("one", "two", "three"));
    EXPECT_EQ(outbox->lost(), 1U);
    EXPECT_FALSE(outbox->failing());
    EXPECT_TRUE(outbox->post(event("room", std::string(6'000, 'x'))));
}

TEST_F(EventOutboxTest, WhatWaitsToBeWrittenIsBounded) {
    outbox = open({.max_waiting_bytes = 10'000});
    EXPECT_FALSE(outbox->post(event("large", std::string(10'001, 'x'))));
    EXPECT_EQ(outbox->lost(), 1U);
    outbox->post_owed(event("owed", std::string(10'001, 'x')));
    wait_for(1);
    EXPECT_EQ(publish(event("large", std::string(10'001, 'x'))).error().code,
              ErrorCode::kRateLimited);
    EXPECT_TRUE(outbox->post(event("small"))) << "what was written makes room";
}

TEST_F(EventOutboxTest, WhatOthersAppendComesInItsOrderFromMemoryAndWakesSleepers) {
    EventOutbox& own = *outbox;
    const auto others = open();
    const auto notifier = std::make_shared<EventNotifier>(loop.executor(), loop.timers);
    own.add(notifier);
    auto sleeping = loop.start(own.sleep(*notifier, 0, kNoDeadline));
    ASSERT_TRUE(loop.run(others->publish(event("one"), kNoDeadline)));
    EXPECT_EQ(own.last(), 0) << "not known yet";
    ASSERT_TRUE(own.look_for_others());
    ASSERT_TRUE(loop.run_until([&] { return sleeping->ended(); }));
    EXPECT_EQ(own.last(), 1);
    ASSERT_TRUE(loop.run(others->publish(event("two"), kNoDeadline)));
    EXPECT_EQ(publish(event("three"))->position, 3);
    EXPECT_EQ(own.last(), 3);
    ASSERT_TRUE(own.look_for_others());
    const auto reads = store.reads();
    EXPECT_THAT(read(0), ElementsAre("one", "two", "three"));
    EXPECT_EQ(store.reads(), reads) << "from memory";
    EXPECT_EQ(own.accepted(), 1U) << "its own";
}

TEST_F(EventOutboxTest, OldEventsAreForgottenAndAskingForThemSaysSo) {
    publish(event("one"));
    loop.clock.advance(24h * 7);
    publish(event("two"));
    EXPECT_TRUE(outbox->forget_old());
    EXPECT_EQ(outbox->first(), 1) << "a week is kept";
    loop.clock.advance(1ms);
    EXPECT_TRUE(outbox->forget_old());
    EXPECT_EQ(outbox->first(), 2);
    EXPECT_THAT(read(0), ElementsAre("NOT_FOUND"));
    EXPECT_THAT(read(1), ElementsAre("two"));
    EXPECT_EQ(outbox->bounds().oldest, loop.clock.system_now() - 1ms);
    loop.clock.advance(24h * 8);
    EXPECT_TRUE(outbox->forget_old());
    EXPECT_EQ(outbox->first(), outbox->last() + 1);
    EXPECT_THAT(read(2), IsEmpty());
}

struct EventSubscriptionsTest : EventOutboxTest {
    std::unique_ptr<EventSubscriptions> subscriptions = load();

    std::unique_ptr<EventSubscriptions> load() {
        return std::move(EventSubscriptions::load(store, pool, loop.clock).value());
    }
    void start_again() {
        subscriptions.reset();  // writes what waits
        subscriptions = load();
    }
};

TEST_F(EventSubscriptionsTest, TheFirstStartAndTheLatestAcknowledgementAreRemembered) {
    EXPECT_FALSE(subscriptions->acknowledged("p", "s"));
    ASSERT_TRUE(subscriptions->begin("p", "s", "", 7));
    start_again();
    EXPECT_EQ(subscriptions->acknowledged("p", "s"), 7);
    ASSERT_TRUE(subscriptions->begin("p", "s", "cron.*", 90));
    EXPECT_EQ(subscriptions->acknowledged("p", "s"), 7) << "a later stream moves nothing";
    subscriptions->acknowledge("p", "s", 9);
    subscriptions->acknowledge("p", "s", 8);
    subscriptions->acknowledge("p", "other", 8);
    start_again();
    EXPECT_EQ(subscriptions->acknowledged("p", "s"), 9);
    EXPECT_FALSE(subscriptions->acknowledged("p", "other"));
    ASSERT_EQ(subscriptions->list().size(), 1U);
    EXPECT_EQ(subscriptions->list()[0].types, "cron.*");
}

TEST_F(EventSubscriptionsTest, APeerHasABoundedNumberOfThem) {
    for (std::size_t i = 0; i < EventSubscriptions::kMostPerPeer; ++i)
        ASSERT_TRUE(subscriptions->begin("p", std::to_string(i), "", 0));
    EXPECT_EQ(subscriptions->begin("p", "one more", "", 0).error().code, ErrorCode::kRateLimited);
    EXPECT_TRUE(subscriptions->begin("p", "0", "", 0));
    EXPECT_TRUE(subscriptions->begin("q", "one more", "", 0));
}

TEST_F(EventSubscriptionsTest,
       EventsOfCallsAreWantedWhileAStreamOrARememberedSubscriptionAsksForThem) {
    EXPECT_FALSE(subscriptions->wants_calls());
    ASSERT_TRUE(subscriptions->begin("p", "s", "cron.*,agent.*", 0));
    EXPECT_FALSE(subscriptions->wants_calls());
    ASSERT_TRUE(subscriptions->begin("p", "s", "", 0));
    EXPECT_TRUE(subscriptions->wants_calls());
    start_again();
    EXPECT_TRUE(subscriptions->wants_calls());
    ASSERT_TRUE(subscriptions->begin("p", "s", "cron.*", 0));
    EXPECT_FALSE(subscriptions->wants_calls());
    subscriptions->want_calls(true);
    EXPECT_TRUE(subscriptions->wants_calls());
    subscriptions->want_calls(false);
    EXPECT_FALSE(subscriptions->wants_calls());
}

TEST(EventTypesTest, GlobsNameTypes) {
    const auto calls = EventTypes::parse("tool.call.*,cron.triggered").value();
    EXPECT_TRUE(calls.has(EventType::kToolCallFailed) && calls.has(EventType::kCronTriggered));
    EXPECT_FALSE(calls.has(EventType::kHeartbeatTick));
    for (const EventType type : all_event_types()) {
        EXPECT_TRUE(EventTypes::parse("")->has(type) && EventTypes::parse("*")->has(type));
        EXPECT_EQ(find_event_type(name_of(type)), type);
    }
    for (const char* wrong : {"tool.calls", "cron.*,", ",", "a,cron.*", "Cron.*"})
        EXPECT_EQ(EventTypes::parse(wrong).error().code, ErrorCode::kInvalidArgs) << wrong;
}

}  // namespace
}  // namespace crab::core
