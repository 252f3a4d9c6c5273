#include "agent/event_turns.hpp"

#include "base/test_clock.hpp"
#include "core/chat/test_chat_session_store.hpp"
#include "core/events/test_event_store.hpp"
#include "core/events/test_event_turn_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include <fmt/format.h>

namespace crab::agent {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Answers when it is told to.
class HeldRunner final : public core::TurnRunner {
public:
    explicit HeldRunner(net::EventLoop& loop) : loop_(loop) {}
    core::TurnAgent agent_of(std::string_view) override { return {.name = "butler"}; }
    Task<Result<std::string>> run(core::TurnRequest request, core::TurnEvents& events) override {
        requests.push_back(request);
        Waiter held(loop_.timers());
        if (hold) {
            waiting.push_back(&held);
            const WaitEnd end = co_await held.wait(kNoDeadline);
            std::erase(waiting, &held);
            if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "cancelled");
        }
        if (failure) co_return fail(*failure);
        if (!thrown.empty()) throw std::runtime_error(thrown);
        events.on_chunk("done");
        co_return std::string("done");
    }
    std::vector<core::TurnRequest> requests;
    std::vector<Waiter*> waiting;
    std::optional<Error> failure;
    std::string thrown;
    bool hold = false;

private:
    net::EventLoop& loop_;
};

/// What was told of turns.
struct ToldTurns final : core::TurnLog {
    void begun(const core::TurnSummary& story) override {
        lines.push_back("begun " + story.event_id);
        targets.push_back(story.target);
    }
    void ended(const core::TurnSummary& story, const core::TurnEnd& end) override {
        lines.push_back(end.outcome + " " + story.event_id);
    }
    std::vector<std::string> lines, targets;
};

class EventTurnsTest : public testing::Test {
protected:
    EventTurnsTest() {
        agent.triggers.push_back(
            {.filter = {.types = core::EventTypes::parse("cron.triggered").value(),
                        .tenant = "default",
                        .agent_id = {},
                        .session_id = {}}});
    }
    ~EventTurnsTest() override { end(); }

    void begin() {
        turns = std::make_unique<EventTurns>(EventTurns::Services{.loop = loop,
                                                                  .runner = runner,
                                                                  .outbox = *outbox,
                                                                  .turns = store,
                                                                  .chats = chats,
                                                                  .store_pool = pool,
                                                                  .log = log,
                                                                  .counts = counts},
                                             agent);
        loop.post([this] { turns->start(); });
        settle();
    }
    void end() {
        if (!turns) return;
        bool ended = false;
        loop.post([&] { turns->stop([&] { ended = true; }); });
        while (!ended) loop.run_some(1s);
        settle();
        turns.reset();
    }
    void settle() {
        for (int hop = 0; hop < 6; ++hop) {
            bool done = false;
            writer.post([&] { pool.post([&] { loop.post([&] { done = true; }); }); });
            while (!done) loop.run_some(1s);
        }
    }
    void publish(std::string id, core::EventType type = core::EventType::kCronTriggered,
                 std::string payload = "{}", std::string tenant = "default",
                 std::string more = {}) {
        core::NewEvent made;
        made.event = {.type = type,
                      .event_id = id,
                      .tenant = std::move(tenant),
                      .agent_id = "somebody",
                      .session_id = "s",
                      .addressee = {},
                      .envelope = fmt::format(R"({{"payload":{}{}}})", payload, more)};
        outbox->post_owed(std::move(made));
        settle();
    }
    void release() {
        loop.post([this] { runner.waiting.front()->wake(); });
        settle();
    }
    std::vector<std::string> said(const std::string& session) {
        std::vector<std::string> words;
        for (const auto& message : chats.messages(ChatSessionId(session)).value())
            words.push_back(message.role + ": " +
                            message.content.substr(0, message.content.find('\n')));
        return words;
    }

    FakeClock clock;
    net::EventLoop loop{clock};
    core::EventStoreMemory events;
    core::EventTurnStoreMemory store;
    core::ChatSessionMemory chats;
    BlockingPool pool{1}, writer{1};
    std::unique_ptr<core::EventOutbox> outbox =
        core::EventOutbox::open(events, writer, pool, clock).value();
    HeldRunner runner{loop};
    EventAgent agent{.name = "butler", .tenant = "default", .triggers = {}};
    ToldTurns log;
    EventTurnCounts counts;
    std::unique_ptr<EventTurns> turns;
};

TEST_F(EventTurnsTest, TheAnswerBelongsWhereTheEventSaysElseInTheChannelThatItCameFrom) {
    begin();
    const auto target_with = [&](std::string id, std::string more) {
        publish(std::move(id), core::EventType::kCronTriggered, "{}", "default", std::move(more));
        return log.targets.back();
    };
    EXPECT_EQ(target_with("e1", R"(,"source":{"platform":"discord","channel_id":"42"},)"
                                R"("routing":{"target":{"address":"a@b"}})"),
              R"({"address":"a@b"})");
    EXPECT_EQ(
        target_with("e2", R"(,"source":{"platform":"discord","channel_id":"42"},"routing":{})"),
        R"({"platform":"discord","channel_id":"42"})");
    EXPECT_EQ(target_with("e3", R"(,"source":{"channel_id":"42"})"), R"({"channel_id":"42"})");
    EXPECT_EQ(target_with("e4", R"(,"source":{"platform":"cli"})"), "");
}

TEST_F(EventTurnsTest, AnEventStartsATurnOfTheAgentWithItsOwnPrincipal) {
    agent.triggers[0].prompt = "Light the lamps.";
    begin();
    publish("e1", core::EventType::kCronTriggered, R"({"job_name":"evening"})");
    ASSERT_EQ(runner.requests.size(), 1u);
    const core::TurnRequest& request = runner.requests.front();
    EXPECT_EQ(request.principal->id, "agent/butler");
    EXPECT_EQ(request.principal->tenant.text(), "default");
    EXPECT_TRUE(request.principal->roles == core::Roles({core::Role::kCaller}));
    EXPECT_EQ(request.persona, "butler");
    EXPECT_EQ(request.front, "event");
    EXPECT_THAT(request.content, testing::AllOf(testing::StartsWith("Light the lamps."),
                                                HasSubstr(R"({"job_name":"evening"})")));
    EXPECT_THAT(said(request.session_id), ElementsAre("user: Light the lamps.", "assistant: done"));
    EXPECT_EQ(chats.find(ChatSessionId(request.session_id)).value()->owner, "agent/butler");
    EXPECT_THAT(log.lines, ElementsAre("begun e1", "answer e1"));
}

TEST_F(EventTurnsTest, EventsOfOtherTypesTenantsAndPayloadsStartNothing) {
    agent.triggers[0].where = {{.pointer = "/job_name", .glob = Glob("even*")}};
    begin();
    publish("e1", core::EventType::kHeartbeatTick, R"({"job_name":"evening"})");
    publish("e2", core::EventType::kCronTriggered, R"({"job_name":"evening"})", "harbour");
    publish("e3", core::EventType::kCronTriggered, R"({"job_name":"morning"})");
    publish("e4", core::EventType::kCronTriggered, R"({"job_name":7})");
    EXPECT_THAT(runner.requests, IsEmpty());
    publish("e5", core::EventType::kCronTriggered, R"({"job_name":"evening"})");
    EXPECT_EQ(runner.requests.size(), 1u);
}

TEST_F(EventTurnsTest, WhileAnotherProcessHasTheAgentItsTurnsDoNotBeginHere) {
    ASSERT_TRUE(store.advance("butler", 0));
    store.set_elsewhere(true);
    begin();
    publish("e1");
    EXPECT_THAT(runner.requests, IsEmpty());
    end();
    store.set_elsewhere(false);
    begin();
    EXPECT_THAT(log.lines, ElementsAre("begun e1", "answer e1"));
    store.set_elsewhere(true);
    publish("e2");
    EXPECT_EQ(runner.requests.size(), 1u) << "it was lost meanwhile";
    end();
    store.set_elsewhere(false);
    begin();
    EXPECT_THAT(log.lines, ElementsAre("begun e1", "answer e1", "begun e2", "answer e2"));
}

TEST_F(EventTurnsTest, WhatTurnsCauseStartsNoTurns) {
    agent.triggers[0].filter.types = core::EventTypes();
    begin();
    for (const auto type : core::all_event_types())
        publish(fmt::format("e-{}", name_of(type)), type);
    for (const core::TurnRequest& request : runner.requests) {
        EXPECT_THAT(request.content,
                    testing::Not(testing::AnyOf(HasSubstr("agent."), HasSubstr("tool.call."))));
    }
    EXPECT_EQ(runner.requests.size(), 10u);
}

TEST_F(EventTurnsTest, WhatWasBeforeANewAgentStartsNothingAndWhatCameInBetweenDoes) {
    publish("before");
    begin();
    EXPECT_THAT(runner.requests, IsEmpty());
    end();
    publish("between");
    begin();
    EXPECT_THAT(log.lines, ElementsAre("begun between", "answer between"));
}

TEST_F(EventTurnsTest, AnEventStartsNoSecondTurnAfterARestart) {
    begin();
    publish("e1");
    end();
    (void)store.advance("butler", 0);  // as if the position had not been stored
    begin();
    EXPECT_EQ(runner.requests.size(), 1u);
}

TEST_F(EventTurnsTest, ATurnThatIsInterruptedSaysSoAndIsNotBegunAgain) {
    runner.hold = true;
    begin();
    publish("e1");
    end();
    EXPECT_THAT(said(runner.requests.front().session_id),
                ElementsAre(testing::StartsWith("user: "),
                            "assistant: [interrupted: the gateway stopped]"));
    EXPECT_EQ(store.latest(1).value().front().end, token_of(ErrorCode::kCancelled));
    begin();
    EXPECT_EQ(runner.requests.size(), 1u);
}

TEST_F(EventTurnsTest, NoMoreTurnsRunAtOnceThanAllowedAndTheRestWaits) {
    runner.hold = true;
    agent.at_once = 2;
    begin();
    for (const char* id : {"e1", "e2", "e3", "e4"}) publish(id);
    EXPECT_EQ(runner.waiting.size(), 2u);
    release();
    EXPECT_EQ(runner.requests.size(), 3u);
    release();
    release();
    release();
    EXPECT_EQ(runner.requests.size(), 4u);
    EXPECT_THAT(runner.waiting, IsEmpty());
}

TEST_F(EventTurnsTest, AnEventThatIsTooOldStartsNothing) {
    agent.triggers[0].max_age = 60s;
    begin();
    end();
    publish("old");
    clock.advance(61s);
    begin();
    EXPECT_THAT(runner.requests, IsEmpty());
    EXPECT_EQ(counts.late.value(), 1u);
    publish("new");
    EXPECT_EQ(runner.requests.size(), 1u);
}

TEST_F(EventTurnsTest, AFailedTurnIsToldAndTheNextOneRuns) {
    runner.failure = Error{.code = ErrorCode::kUnavailable,
                           .message = "no model",
                           .details = {},
                           .retryable = {},
                           .retry_after = {}};
    begin();
    publish("e1");
    EXPECT_THAT(said(runner.requests.front().session_id).back(),
                "assistant: [the turn failed: no model]");
    runner.failure.reset();
    publish("e2");
    EXPECT_THAT(log.lines, ElementsAre("begun e1", "UNAVAILABLE e1", "begun e2", "answer e2"));
}

TEST_F(EventTurnsTest, AnExceptionOfATurnIsLoggedWithItsTextAndTheNextOneRuns) {
    runner.thrown = "no such key: 7";
    begin();
    testing::internal::CaptureStderr();
    publish("e1");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no such key: 7"));
    runner.thrown.clear();
    publish("e2");
    EXPECT_THAT(log.lines, ElementsAre("begun e1", "INTERNAL e1", "begun e2", "answer e2"));
}

TEST_F(EventTurnsTest, AnotherWordOnTheAgentHoldsForTheNextEventAndNotForTurnsThatRun) {
    runner.hold = true;
    begin();
    publish("e1");
    publish("e2");
    agent.triggers[0].prompt = "New words.";
    agent.tenant = "harbour";
    agent.triggers[0].filter.tenant = "harbour";
    agent.at_once = 2;
    loop.post([this] { turns->set_agent(agent); });
    settle();
    EXPECT_EQ(runner.requests.size(), 1u)
        << "an event of the tenant before is none of the agent's any more";
    publish("e3", core::EventType::kCronTriggered, "{}", "harbour");
    ASSERT_EQ(runner.requests.size(), 2u);
    EXPECT_EQ(runner.requests[0].principal->tenant.text(), "default");
    EXPECT_EQ(runner.requests[1].principal->tenant.text(), "harbour");
    EXPECT_THAT(runner.requests[1].content, testing::StartsWith("New words."));
    release();
    release();
    EXPECT_THAT(log.lines, ElementsAre("begun e1", "begun e3", "answer e1", "answer e3"));
}

TEST_F(EventTurnsTest, TheLastWordsOfATurnSayHowItEnded) {
    begin();
    publish("e1");
    const core::TurnRequest& request = runner.requests.front();
    const auto turn = chats.find_turn(ChatSessionId(request.session_id), request.turn_id).value();
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->outcome, "answer");
    EXPECT_EQ(turn->text, "done");
}

TEST_F(EventTurnsTest, OneSessionHoldsAllTurnsOfATriggerThatWantsThat) {
    agent.triggers[0].one_session = true;
    begin();
    publish("e1");
    publish("e2");
    EXPECT_EQ(runner.requests[0].session_id, "agent-butler");
    EXPECT_EQ(said("agent-butler").size(), 4u);
}

}  // namespace
}  // namespace crab::agent
