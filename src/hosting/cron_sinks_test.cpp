#include "hosting/cron_sinks.hpp"

#include "base/task/test_loop.hpp"
#include "core/events/test_event_store.hpp"

#include <gtest/gtest.h>

namespace crab::hosting {
namespace {

std::string envelope(std::string_view id, std::string_view name = "pulse") {
    return fmt::format(
        R"({{"version":"v1","event_id":"{}","trace_id":"t","tenant_id":"default",)"
        R"("occurred_at":"2026-08-01T12:00:00Z","event_type":"heartbeat.tick",)"
        R"("source":{{"component_type":"cron","component_id":"cron"}},"routing":{{"agent_id":"a",)"
        R"("session_id":"s"}},"payload":{{"job_name":"{}"}},)"
        R"("idempotency_key":"cron:1:now"}})",
        id, name);
}

class CronSinksTest : public testing::Test {
protected:
    Result<void> publish(cron::CronEventSink& to, std::string text) {
        return loop.run(to.publish(std::move(text)));
    }

    TestLoop loop;
    BlockingPool pool{1};
    core::EventStoreMemory store;
    std::unique_ptr<core::EventOutbox> outbox =
        core::EventOutbox::open(store, pool, pool, loop.clock).value();
    OutboxEventSink sink{*outbox, loop.clock};
};

TEST_F(CronSinksTest, AnEventIsAcceptedOnceItIsInTheOutbox) {
    ASSERT_TRUE(publish(sink, envelope("one")));
    const auto events = store.events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].event.type, core::EventType::kHeartbeatTick);
    EXPECT_EQ(events[0].event.event_id, "one");
}

TEST_F(CronSinksTest, ARepeatIsAcceptedAndStoredOnceAndAnotherFiringUnderItsKeyIsAConflict) {
    ASSERT_TRUE(publish(sink, envelope("one")));
    EXPECT_TRUE(publish(sink, envelope("one")));
    EXPECT_EQ(publish(sink, envelope("two", "other")).error().code, ErrorCode::kConflict);
    EXPECT_EQ(store.events().size(), 1U);
}

TEST_F(CronSinksTest, WhatIsNoEnvelopeIsRefused) {
    for (const char* text : {"{}", R"({"event_type":7})", "no JSON"})
        EXPECT_EQ(publish(sink, text).error().code, ErrorCode::kInvalidArgs) << text;
}

TEST_F(CronSinksTest, AnOutboxThatCannotBeWrittenAcceptsNothing) {
    store.set_failing(true);
    EXPECT_EQ(publish(sink, envelope("one")).error().code, ErrorCode::kUnavailable);
}

TEST_F(CronSinksTest, WithoutASinkEventsHaveToWait) {
    NoEventSink none;
    const Error refused = publish(none, envelope("one")).error();
    EXPECT_EQ(refused.code, ErrorCode::kUnavailable);
    EXPECT_EQ(refused.retry_after, std::chrono::minutes(1));
}

}  // namespace
}  // namespace crab::hosting
