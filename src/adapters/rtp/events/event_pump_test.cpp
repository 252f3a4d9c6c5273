#include "adapters/rtp/events/event_pump.hpp"

#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"
#include "core/events/test_event_store.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::rtp {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Forbids the actions it is told to, and knows whose leases have streams.
class FakeAccess final : public trust::Access {
public:
    trust::ActionDecision decide(const core::Principal&, std::string_view action,
                                 const trust::ActionScope& scope, std::string_view) const override {
        if (forbidden.contains(std::string(action)) || scope.tenant == hidden_tenant)
            return {core::Verdict::kDeny, "test"};
        return {core::Verdict::kAllow, "test"};
    }
    bool is_lease_active(const core::Principal&, std::string_view) const override {
        return !lease_ended;
    }
    void stream_began(std::string_view lease_id) override { streams.insert(std::string(lease_id)); }
    void stream_ended(std::string_view lease_id) override { streams.erase(std::string(lease_id)); }

    std::set<std::string> forbidden, streams;
    std::string hidden_tenant = "hidden";
    bool lease_ended = false;
};

class FakeReceiver final : public EventReceiver {
public:
    bool gone() const override { return left; }
    void send(const core::StoredEvent& event) override { sent.push_back(event.event.event_id); }
    void keep_alive() override { ++pings; }
    Task<void> drained() override { co_return; }
    void close(std::uint16_t with, std::string_view) override { code = with; }

    std::vector<std::string> sent;
    bool left = false;
    int pings = 0;
    std::uint16_t code = 0;
};

/// A stream that runs, and what it was sent.
struct Running {
    FakeReceiver receiver;
    std::shared_ptr<LiveStream> live;
    std::shared_ptr<Started<bool>> task;
};

struct EventPumpTest : testing::Test {
    TestLoop loop;
    BlockingPool writer{1}, pool{1};
    core::EventStoreMemory store;
    std::unique_ptr<core::EventOutbox> outbox =
        core::EventOutbox::open(store, writer, pool, loop.clock).value();
    std::unique_ptr<core::EventSubscriptions> subscriptions =
        core::EventSubscriptions::load(store, pool, loop.clock).value();
    FakeAccess access;
    EventStreams streams;
    EventServices services{loop.clock, *outbox, *subscriptions, access, streams};
    std::vector<std::unique_ptr<Running>> all;

    ~EventPumpTest() override {
        for (const auto& running : all) {
            loop.cancel(*running->task);
            loop.run_until([&] { return running->task->ended(); });
        }
    }
    void publish(std::string id, core::EventType type = core::EventType::kCronTriggered,
                 std::string tenant = "acme", std::string addressee = {}) {
        core::NewEvent event;
        event.event = {.type = type,
                       .event_id = std::move(id),
                       .tenant = std::move(tenant),
                       .agent_id = "a",
                       .session_id = "s",
                       .addressee = std::move(addressee),
                       .envelope = "{}"};
        ASSERT_TRUE(loop.run(outbox->publish(std::move(event), kNoDeadline)));
        loop.settle();
    }
    void publish_many(int count) {
        for (int i = 0; i < count; ++i) publish(std::to_string(i));
    }
    Running& start(EventRequest request = {},
                   core::PrincipalRef principal = core::principal_of("subscriber/log",
                                                                     {core::Role::kSubscriber})) {
        auto running = std::make_unique<Running>();
        running->live = std::make_shared<LiveStream>(principal->id, request.subscription,
                                                     loop.executor(), loop.timers);
        if (request.remember)
            EXPECT_TRUE(subscriptions->begin(principal->id, request.subscription, request.types,
                                             outbox->last()));
        const core::EventPosition after =
            request.earliest ? outbox->first() - 1
                             : subscriptions->acknowledged(principal->id, request.subscription)
                                   .value_or(outbox->last());
        running->task =
            loop.start(run(services, principal, request, running->live, after, running->receiver));
        all.push_back(std::move(running));
        loop.settle();
        return *all.back();
    }
    static Task<void> run(EventServices services, core::PrincipalRef principal,
                          EventRequest request, std::shared_ptr<LiveStream> live,
                          core::EventPosition after, FakeReceiver& receiver) {
        EventPump pump(services, std::move(principal), std::move(request), std::move(live), after);
        co_await pump.run(receiver);
    }
    void acknowledge(Running& running, core::EventPosition position) {
        subscriptions->acknowledge(running.live->peer, running.live->subscription, position);
        streams.acknowledge(running.live->peer, running.live->subscription, position);
        loop.settle();
    }
    void expect_sent(Running& running, std::size_t count) {
        loop.run_until(
            [&] { return running.receiver.sent.size() >= count || running.task->ended(); });
        EXPECT_EQ(running.receiver.sent.size(), count);
    }
};

TEST_F(EventPumpTest, WhatIsForbiddenFilteredOrAnotherTenantsIsLeftOut) {
    EventRequest request;
    request.filter.types = core::EventTypes::parse("cron.*,agent.*,heartbeat.tick").value();
    access.forbidden = {"events.subscribe:agent.turn.started"};
    Running& stream = start(request);
    publish("1");
    publish("2", core::EventType::kAgentTurnStarted);
    publish("3", core::EventType::kConfigApplied);
    publish("4", core::EventType::kCronTriggered, "hidden");
    publish("5", core::EventType::kHeartbeatTick);
    EXPECT_THAT(stream.receiver.sent, ElementsAre("1", "5"));
    access.forbidden.insert("events.subscribe:cron.triggered");
    publish("6");
    publish("7", core::EventType::kHeartbeatTick);
    EXPECT_THAT(stream.receiver.sent, ElementsAre("1", "5", "7"))
        << "a change of the rules reaches what is open";
}

TEST_F(EventPumpTest, AStreamWhoseLeaseHasEndedIsClosedAndSaysSo) {
    EventRequest request;
    request.lease = "l1";
    Running& stream = start(request);
    request.lease.clear();
    request.subscription = "other";
    Running& other = start(request);
    publish("1");
    access.lease_ended = true;
    EXPECT_FALSE(stream.task->ended());
    loop.advance(EventPump::kLeaseCheck);   // although nothing happens
    EXPECT_TRUE(stream.task->ended());
    EXPECT_EQ(stream.receiver.code, 1008);
    publish("2");
    EXPECT_THAT(stream.receiver.sent, ElementsAre("1"));
    EXPECT_THAT(other.receiver.sent, ElementsAre("1", "2")) << "it has named none";
}

TEST_F(EventPumpTest, AStreamEndsWithTheCertificateThatOpenedItAndSaysSo) {
    EventRequest request;
    request.good_until = loop.clock.system_now() + std::chrono::hours(1);
    Running& stream = start(request);
    request.subscription = "renewed";
    request.good_until = loop.clock.system_now() + std::chrono::hours(9);
    Running& other = start(request);
    publish("1");
    loop.clock.set_system_clock(std::chrono::hours(2));
    publish("2");
    loop.advance(EventPump::kLeaseCheck);   // although nothing happens
    EXPECT_TRUE(stream.task->ended());
    EXPECT_EQ(stream.receiver.code, 1008);
    EXPECT_THAT(stream.receiver.sent, ElementsAre("1"));
    EXPECT_THAT(other.receiver.sent, ElementsAre("1", "2"));
}

TEST_F(EventPumpTest, AToolHostSeesOnlyCallsThatWereSentToIt) {  // 84
    Running& host = start({}, core::principal_of("tool_host/east", {core::Role::kToolHost}));
    Running& other = start({}, core::principal_of("operator/gin", {core::Role::kCliAdmin}));
    publish("1", core::EventType::kToolCallRequested, "acme", "tool_host/east");
    publish("2", core::EventType::kToolCallRequested, "acme", "tool_host/west");
    publish("3", core::EventType::kToolCallRequested);
    EXPECT_THAT(host.receiver.sent, ElementsAre("1"));
    EXPECT_THAT(other.receiver.sent, ElementsAre("1", "2", "3"));
}

TEST_F(EventPumpTest, With256UnacknowledgedItPausesAndAMinuteLaterItEnds) {
    Running& stream = start();
    publish_many(260);
    EXPECT_EQ(stream.receiver.sent.size(), 256U);
    loop.advance(59s);
    acknowledge(stream, 2);
    EXPECT_EQ(stream.receiver.sent.size(), 258U);
    loop.advance(59s);
    EXPECT_EQ(stream.receiver.code, 0) << "the minute begins anew";
    loop.advance(2s);
    EXPECT_EQ(stream.receiver.code, 1008);
    EXPECT_TRUE(stream.task->ended());
}

TEST_F(EventPumpTest, WhatWasNotAcknowledgedComesAgainAndTheRestDoesNot) {
    Running& first = start();
    publish_many(3);
    acknowledge(first, 1);
    first.receiver.left = true;
    first.live->notifier->wake();
    loop.settle();
    ASSERT_TRUE(first.task->ended());
    EXPECT_THAT(start().receiver.sent, ElementsAre("1", "2"));
}

TEST_F(EventPumpTest, AStreamThatNeedsNothingOfWhatCameBeginsBehindItNextTime) {
    EventRequest request;
    request.filter.types = core::EventTypes::parse("heartbeat.tick").value();
    Running& first = start(request);
    publish_many(5);
    first.receiver.left = true;
    first.live->notifier->wake();
    loop.settle();
    EXPECT_EQ(subscriptions->acknowledged("subscriber/log", ""), 5);
}

TEST_F(EventPumpTest, ANewerStreamOfTheSubscriptionEndsTheOlder) {
    Running& older = start();
    EventRequest other;
    other.subscription = "other";
    Running& elsewhere = start(other);
    Running& newer = start();
    EXPECT_EQ(older.receiver.code, 4409);
    EXPECT_TRUE(older.task->ended());
    publish("1");
    EXPECT_THAT(newer.receiver.sent, ElementsAre("1"));
    EXPECT_THAT(elsewhere.receiver.sent, ElementsAre("1"));
    EXPECT_EQ(streams.size(), 2U);
}

TEST_F(EventPumpTest, AStreamThatIsNotRememberedNeedsNoAcknowledgementAndWantsCallsWhileItLives) {
    EventRequest request;
    request.remember = false;
    Running& stream = start(request);
    EXPECT_TRUE(subscriptions->wants_calls());
    EXPECT_EQ(streams.size(), 0U);
    publish_many(300);
    expect_sent(stream, 300);
    stream.receiver.left = true;
    stream.live->notifier->wake();
    loop.settle();
    EXPECT_FALSE(subscriptions->wants_calls());
    EXPECT_THAT(subscriptions->list(), IsEmpty());
}

TEST_F(EventPumpTest, AStreamThatFallsBehindWhatIsKeptEnds) {
    Running& stream = start();
    publish_many(256);
    publish("lost");
    loop.clock.advance(24h * 8);
    ASSERT_TRUE(outbox->forget_old());
    acknowledge(stream, 256);
    EXPECT_EQ(stream.receiver.code, 1008);
}

TEST_F(EventPumpTest, ASilentStreamIsKeptAliveAndItsLeaseHasAStream) {
    EventRequest request;
    request.lease = "l1";
    Running& stream = start(request);
    EXPECT_TRUE(access.streams.contains("l1"));
    loop.advance(EventPump::kKeepAlive + TimerWheel::kTick);
    EXPECT_EQ(stream.receiver.pings, 1);
    stream.receiver.left = true;
    stream.live->notifier->wake();
    loop.settle();
    EXPECT_TRUE(access.streams.empty());
}

}  // namespace
}  // namespace crab::rtp
