#include "adapters/rtp/events/turn_event_log.hpp"

#include "base/test_clock.hpp"
#include "core/events/test_event_store.hpp"
#include "json/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace crab::rtp {
namespace {

using namespace std::chrono_literals;
using core::EventType;
using testing::ElementsAre;
using testing::IsEmpty;

class TurnEventLogTest : public testing::Test {
protected:
    core::TurnSummary story(std::string id, std::string event_id = {}) {
        return {.turn_id = id,
                .tenant = "default",
                .agent = "butler",
                .session = "s1",
                .principal = "device/phone",
                .event_id = event_id,
                .event_type = event_id.empty() ? "" : "cron.triggered",
                .target = target,
                .begun = clock.system_now()};
    }
    core::TurnEnd end(std::string outcome, std::string text = "It is late.") {
        return {.at = clock.system_now() + 1500ms,
                .outcome = std::move(outcome),
                .text = std::move(text)};
    }
    /// Does `work` in a life of the gateway that then ends.
    template <class F>
    void live(F work) {
        BlockingPool writer{1}, pool{1};
        const auto outbox = core::EventOutbox::open(store, writer, pool, clock).value();
        TurnEventLog log(*outbox, clock, options);
        work(log);
    }
    /// What the next life makes up for, and how many turns it ended.
    std::size_t repair(const std::vector<core::TurnSummary>& recorded = {}) {
        const auto end_of = [this](const core::TurnSummary& about) -> Result<core::TurnEnd> {
            const auto known = ends.find(about.turn_id);
            return known != ends.end() ? known->second
                                       : end("OUTCOME_UNKNOWN", "the gateway stopped");
        };
        return TurnEventLog::end_open_turns(store, recorded, end_of, clock, options).value();
    }
    std::vector<EventType> types() const {
        std::vector<EventType> all;
        for (const auto& stored : store.events()) all.push_back(stored.event.type);
        return all;
    }
    json::Value payload(std::size_t at) const {
        return *json::Value::parse(store.events().at(at).event.envelope).value().find("payload");
    }

    FakeClock clock;
    core::EventStoreMemory store;
    std::string target;
    TurnEventOptions options{.gateway_id = "gateway-1"};
    std::map<std::string, core::TurnEnd> ends;
};

TEST_F(TurnEventLogTest, AnAnsweredTurnIsThreeEventsOfItsAgentAndSession) {
    live([&](TurnEventLog& log) {
        log.begun(story("t1", "e1"));
        log.ended(story("t1", "e1"), end("answer"));
    });
    EXPECT_THAT(types(), ElementsAre(EventType::kAgentTurnStarted, EventType::kAgentResponseCreated,
                                     EventType::kAgentTurnCompleted));
    for (const auto& stored : store.events()) {
        EXPECT_EQ(std::tie(stored.event.tenant, stored.event.agent_id, stored.event.session_id),
                  std::tuple("default", "butler", "s1"));
    }
    const std::string head =
        R"({"turn_id":"t1","cause":{"principal":"device/phone","event_id":"e1",)"
        R"("event_type":"cron.triggered"})";
    EXPECT_EQ(payload(0).dump(), head + "}");
    EXPECT_EQ(payload(1).dump(),
              head + R"(,"text":"It is late.","response_id":"t1","content":[{"type":"text",)"
                     R"("text":"It is late."}]})");
    EXPECT_EQ(payload(2).dump(), head + R"(,"duration_ms":1500})");
    EXPECT_EQ(repair(), 0u);
}

TEST_F(TurnEventLogTest, AFailedTurnSaysWhy) {
    live([&](TurnEventLog& log) {
        log.begun(story("t1"));
        log.ended(story("t1"), end("UNAVAILABLE", "no model"));
    });
    EXPECT_THAT(types(), ElementsAre(EventType::kAgentTurnStarted, EventType::kAgentTurnFailed));
    EXPECT_EQ(
        payload(1).dump(),
        R"({"turn_id":"t1","cause":{"principal":"device/phone"},"error":{"code":"UNAVAILABLE",)"
        R"("message":"no model"},"duration_ms":1500})");
}

TEST_F(TurnEventLogTest, WhatChatsAnswerIsLeftOutOnRequestAndWhatEventsAskIsNot) {
    options.chat_answers = false;
    live([&](TurnEventLog& log) {
        log.begun(story("t1"));
        log.ended(story("t1"), end("answer"));
        log.begun(story("t2", "e2"));
        log.ended(story("t2", "e2"), end("answer"));
    });
    EXPECT_THAT(types(), ElementsAre(EventType::kAgentTurnStarted, EventType::kAgentTurnCompleted,
                                     EventType::kAgentTurnStarted, EventType::kAgentResponseCreated,
                                     EventType::kAgentTurnCompleted));
}

TEST_F(TurnEventLogTest, ALongAnswerIsCut) {
    live([&](TurnEventLog& log) {
        log.begun(story("t1"));
        log.ended(story("t1"), end("answer", std::string(300'000, 'x')));
    });
    EXPECT_EQ(payload(1).find("text")->as_string()->size(), 262'144u);
    EXPECT_TRUE(*payload(1).find("truncated")->as_bool());
}

TEST_F(TurnEventLogTest, ATurnThatACrashLeftOpenEndsAsItsLastWordsSayOrAsUnknown) {
    live([&](TurnEventLog& log) {
        log.begun(story("answered", "e1"));
        log.begun(story("lost"));
    });
    ends["answered"] = end("answer");
    EXPECT_EQ(repair(), 2u);
    EXPECT_THAT(types(), ElementsAre(EventType::kAgentTurnStarted, EventType::kAgentTurnStarted,
                                     EventType::kAgentResponseCreated,
                                     EventType::kAgentTurnCompleted, EventType::kAgentTurnFailed));
    EXPECT_EQ(*payload(2).resolve("/cause/event_id")->as_string(), "e1");
    EXPECT_EQ(*payload(4).resolve("/error/code")->as_string(), "OUTCOME_UNKNOWN");
    EXPECT_EQ(*payload(4).resolve("/cause/principal")->as_string(), "device/phone");
    EXPECT_EQ(repair(), 0u) << "and only once";
}

TEST_F(TurnEventLogTest, WhereTheAnswerBelongsIsKnownAfterACrashToo) {
    target = R"({"channel_id":"42"})";
    live([&](TurnEventLog& log) { log.begun(story("t1", "e1")); });
    ends["t1"] = end("answer");
    EXPECT_EQ(repair(), 1u);
    for (const auto& stored : store.events())
        EXPECT_EQ(*json::Value::parse(stored.event.envelope)
                       .value()
                       .resolve("/routing/target/channel_id")
                       ->as_string(),
                  "42");
}

TEST_F(TurnEventLogTest, AStartThatIsRecordedElsewhereAndWasLostIsTold) {
    EXPECT_EQ(repair({story("t1", "e1")}), 1u);
    EXPECT_THAT(types(), ElementsAre(EventType::kAgentTurnStarted, EventType::kAgentTurnFailed));
    EXPECT_EQ(repair({story("t1", "e1")}), 0u);
    EXPECT_EQ(store.events().size(), 2u);
}

TEST_F(TurnEventLogTest, AnAnswerThatWasToldBeforeTheCrashIsNotToldAgain) {
    live([&](TurnEventLog& log) {
        log.begun(story("t1"));
        log.ended(story("t1"), end("answer"));
    });
    // As if the crash had come between the two commits of the end.
    const auto events = store.events();
    core::EventStoreMemory torn;
    core::NewEvent start{.event = events[0].event};
    start.step = core::CallStep::kRequested;
    core::NewEvent answer{
        .event = events[1].event, .publisher = "gateway/turns", .idempotency_key = "t1"};
    torn.append({start, answer}, clock.system_now());
    ends["t1"] = end("answer");
    EXPECT_EQ(
        TurnEventLog::end_open_turns(
            torn, {}, [&](const core::TurnSummary&) -> Result<core::TurnEnd> { return ends["t1"]; },
            clock, options)
            .value(),
        1u);
    std::vector<EventType> told;
    for (const auto& stored : torn.events()) told.push_back(stored.event.type);
    EXPECT_THAT(told, ElementsAre(EventType::kAgentTurnStarted, EventType::kAgentResponseCreated,
                                  EventType::kAgentTurnCompleted));
}

}  // namespace
}  // namespace crab::rtp
