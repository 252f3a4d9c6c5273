#include "apps/crab/host/cron_sinks.hpp"
#include "base/test_loop.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crab::app {
namespace {

class CronSinksTest : public testing::Test {
protected:
    Result<void> publish(cron::CronEventSink& sink, std::string envelope) { return loop.start(sink.publish(std::move(envelope)))->get(); }

    TestLoop loop;
    core::EventHub events;
    HubEventSink hub{events, loop.clock};
};

TEST_F(CronSinksTest, TheHubGetsTheEnvelopeUnderItsType) {
    std::vector<core::Event> heard;
    events.subscribe([&](const core::Event& event) { heard.push_back(event); });
    const std::string envelope = R"({"event_type":"heartbeat.tick","payload":{"job_name":"pulse"}})";
    ASSERT_TRUE(publish(hub, envelope));
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(heard[0].type, "heartbeat.tick");
    EXPECT_EQ(heard[0].payload, envelope);
    EXPECT_EQ(heard[0].time, loop.clock.system_now());
}

TEST_F(CronSinksTest, AnEventThatNobodyListensToCountsAsAccepted) { EXPECT_TRUE(publish(hub, R"({"event_type":"cron.triggered"})")); }

TEST_F(CronSinksTest, AnEnvelopeWithoutATypeIsRefused) {
    for (const char* envelope : {"{}", R"({"event_type":7})", "no JSON"}) EXPECT_EQ(publish(hub, envelope).error().code, ErrorCode::kInvalidArgs) << envelope;
}

TEST_F(CronSinksTest, WithoutASinkEventsHaveToWait) {
    NoEventSink none;
    const Error refused = publish(none, R"({"event_type":"cron.triggered"})").error();
    EXPECT_EQ(refused.code, ErrorCode::kUnavailable);
    EXPECT_EQ(refused.retry_after, std::chrono::minutes(1));
}

}  // namespace
}  // namespace crab::app
