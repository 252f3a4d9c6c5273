#include "hosts/cron/cron_decision.hpp"

#include "json/schema/schema.hpp"
#include "json/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::cron {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const SystemTime kNoon = std::chrono::sys_days(2026y / 8 / 1) + 12h;

CronOccurrences occurrences(const char* schedule) {
    return {CronSchedule::parse(schedule).value(), TimeZone()};
}
CronTick on_time(SystemTime minute) { return {.scheduled_for = minute, .missed_count = 0}; }
CronTick missed(SystemTime minute, std::uint32_t count) {
    return {.scheduled_for = minute, .missed_count = count};
}

TEST(CronDecision, AJobFiresInItsMinuteAndIsDueAgainAtTheNext) {
    for (const MissedTickPolicy policy : {MissedTickPolicy::kSkip, MissedTickPolicy::kRunOnce}) {
        const auto decision = decide(occurrences("*/5 * * * *"), policy, kNoon, kNoon + 20ms);
        EXPECT_THAT(decision.ticks, ElementsAre(on_time(kNoon)));
        EXPECT_EQ(decision.next_run_at, kNoon + 5min);
    }
}

TEST(CronDecision, UpToAMinuteLateIsOnTime) {
    for (const MissedTickPolicy policy : {MissedTickPolicy::kSkip, MissedTickPolicy::kRunOnce}) {
        EXPECT_THAT(decide(occurrences("0 12 * * *"), policy, kNoon, kNoon + 60s).ticks,
                    ElementsAre(on_time(kNoon)));
    }
    EXPECT_THAT(decide(occurrences("* * * * *"), MissedTickPolicy::kSkip, kNoon, kNoon + 60s).ticks,
                ElementsAre(on_time(kNoon), on_time(kNoon + 1min)))
        << "each minute has its event";
}

TEST(CronDecision, SkipDropsWhatWasMissed) {
    const auto late =
        decide(occurrences("0 12 * * *"), MissedTickPolicy::kSkip, kNoon, kNoon + 60s + 1ms);
    EXPECT_THAT(late.ticks, IsEmpty());
    EXPECT_EQ(late.next_run_at, kNoon + 24h);
    EXPECT_THAT(
        decide(occurrences("* * * * *"), MissedTickPolicy::kSkip, kNoon, kNoon + 1h + 90s).ticks,
        ElementsAre(on_time(kNoon + 1h + 1min)));
}

TEST(CronDecision, RunOnceSendsOneEventForTheLatestMissedMinute) {
    EXPECT_THAT(
        decide(occurrences("0 12 * * *"), MissedTickPolicy::kRunOnce, kNoon, kNoon + 60s + 1ms)
            .ticks,
        ElementsAre(missed(kNoon, 1)));
    const auto decision =
        decide(occurrences("*/10 * * * *"), MissedTickPolicy::kRunOnce, kNoon, kNoon + 58min);
    EXPECT_THAT(decision.ticks, ElementsAre(missed(kNoon + 50min, 6)));
    EXPECT_EQ(decision.next_run_at, kNoon + 1h);
    EXPECT_THAT(
        decide(occurrences("*/10 * * * *"), MissedTickPolicy::kRunOnce, kNoon, kNoon + 1h + 30s)
            .ticks,
        ElementsAre(missed(kNoon + 50min, 6), on_time(kNoon + 1h)));
}

TEST(CronDecision, YearsOfMissedMinutesAreCountedUpToALimit) {
    const auto decision = decide(occurrences("* * * * *"), MissedTickPolicy::kRunOnce, kNoon,
                                 kNoon + 24h * 3650 + 30s);
    EXPECT_THAT(decision.ticks, ElementsAre(missed(kNoon + 24h * 3650 - 1min, kMostCounted),
                                            on_time(kNoon + 24h * 3650)));
}

CronJob job() {
    CronJob made;
    made.job_id = "0197e4a0-0000-7000-8000-00000000000a";
    made.name = "Morning \"news\"";
    made.tenant = TenantId("acme");
    made.agent_id = "butler";
    made.session_id = "s1";
    return made;
}

TEST(CronEvent, IsAnEnvelopeWithTheJobsTenantAndRouting) {
    CronJob quiet = job();
    const std::string id = "0197e4a0-1111-7000-8000-0123456789ab";
    EXPECT_EQ(
        to_envelope(quiet, on_time(kNoon), kNoon + 20ms, id, "cron"),
        R"({"version":"v1","event_id":"0197e4a0-1111-7000-8000-0123456789ab",)"
        R"("trace_id":"0197e4a01111700080000123456789ab","tenant_id":"acme",)"
        R"("occurred_at":"2026-08-01T12:00:00.020Z","event_type":"cron.triggered",)"
        R"("source":{"component_type":"cron","component_id":"cron"},)"
        R"("routing":{"agent_id":"butler","session_id":"s1"},)"
        R"("payload":{"job_id":"0197e4a0-0000-7000-8000-00000000000a",)"
        R"("job_name":"Morning \"news\"",)"
        R"("scheduled_for":"2026-08-01T12:00:00.000Z","triggered_at":"2026-08-01T12:00:00.020Z",)"
        R"("reason":"scheduled_task"},)"
        R"("idempotency_key":"cron:0197e4a0-0000-7000-8000-00000000000a:2026-08-01T12:00:)"
        R"(00.000Z"})");
}

TEST(CronEvent, CarriesInputIsolationKeyAndHowManyMinutesWereMissed) {
    CronJob full = job();
    full.event_type = CronEventType::kHeartbeat;
    full.isolation_key = "kitchen";
    full.input = R"({"city":"Köln"})";
    const auto event =
        json::Value::parse(to_envelope(full, missed(kNoon, 7), kNoon, "e", "cron-2")).value();
    EXPECT_EQ(*event.resolve("/event_type"), "heartbeat.tick");
    EXPECT_EQ(*event.resolve("/source/component_id"), "cron-2");
    EXPECT_EQ(*event.resolve("/routing/isolation_key"), "kitchen");
    EXPECT_EQ(*event.resolve("/payload/input/city"), "Köln");
    EXPECT_EQ(*event.resolve("/payload/reason"), "heartbeat");
    EXPECT_EQ(*event.resolve("/payload/missed_count"), 7);
}

/// Section 9 of docs/protocols/rtp.md, as far as a cron host may use it: the gateway adds the rest.
constexpr std::string_view kEnvelope =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
    R"("additionalProperties":false,
    "required":["version","event_id","trace_id","tenant_id","occurred_at","event_type","payload",)"
    R"("source","routing"],
    "properties":{"version":{"const":"v1"},"event_id":{"type":"string","format":"uuid"},)"
    R"("trace_id":{"type":"string","minLength":1},"tenant_id":{"type":"string","minLength":1},
        "occurred_at":{"type":"string","format":"date-time"},)"
    R"("event_type":{"enum":["cron.triggered","heartbeat.tick"]},)"
    R"("idempotency_key":{"type":"string"},
        "source":{"type":"object","additionalProperties":false,"required":["component_type",)"
    R"("component_id"],"properties":{"component_type":{"const":"cron"},)"
    R"("component_id":{"type":"string"}}},
        "routing":{"type":"object","additionalProperties":false,"required":["agent_id",)"
    R"("session_id"],
            "properties":{"agent_id":{"type":"string"},"session_id":{"type":"string"},)"
    R"("isolation_key":{"type":"string"}}},
        "payload":{"type":"object","additionalProperties":false,"required":["job_id","job_name",)"
    R"("scheduled_for","triggered_at","reason"],
            "properties":{"job_id":{"type":"string"},"job_name":{"type":"string"},)"
    R"("scheduled_for":{"type":"string","format":"date-time"},"triggered_at":{"type":"string",)"
    R"("format":"date-time"},
                "input":{"type":"object"},"reason":{"enum":["scheduled_task","heartbeat"]},)"
    R"("missed_count":{"type":"integer","minimum":1}}}}})";

TEST(CronEvent, FitsTheEnvelopeOfTheReference) {
    const auto schema = json::Schema::compile(kEnvelope, {.assert_formats = true}).value();
    CronJob full = job();
    full.isolation_key = "kitchen";
    full.input = "{}";
    json::Parser parser;
    for (const CronJob& each : {job(), full}) {
        for (const CronTick& tick : {on_time(kNoon), missed(kNoon, 3)}) {
            const std::string event = to_envelope(each, tick, kNoon + 5ms,
                                                  "0197e4a0-1111-7000-8000-0123456789ab", "cron");
            EXPECT_TRUE(schema->is_valid(parser.parse(event).value().element())) << event;
        }
    }
}

}  // namespace
}  // namespace crab::cron
