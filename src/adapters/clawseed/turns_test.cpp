// Chat turns, numbered as in the checklist of docs/protocols/clawseed.md, section 13.

#include "adapters/clawseed/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <numeric>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

using namespace test;
using core::TurnEvents;
using core::TurnRequest;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

using Answer = Result<std::string>;

/// A place in a script where the turn waits until the test opens it; cancelling the turn ends the
/// wait.
class Gate {
public:
    explicit Gate(World& world) : waiter_(world.loop.timers()), world_(world) {}
    /// False when the turn was cancelled.
    Task<bool> pass() {
        const WaitEnd end = co_await waiter_.wait(kNoDeadline);
        co_return end == WaitEnd::kWoken;
    }
    void open() {
        world_.on_loop([this] { waiter_.wake(); });
    }

private:
    Waiter waiter_;
    World& world_;
};

class Turns : public testing::Test {
protected:
    /// A turn that says these chunks.
    void will_say(std::vector<std::string> chunks) {
        world.runner.scripts.push_back(
            [chunks](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
                for (const std::string& chunk : chunks) events.on_chunk(chunk);
                co_return std::accumulate(chunks.begin(), chunks.end(), std::string());
            });
    }
    void will_fail(ErrorCode code) {
        world.runner.scripts.push_back([code](const TurnRequest&, TurnEvents&) -> Task<Answer> {
            co_return fail(code, "it went wrong; try again");
        });
    }
    /// A turn that says `before`, waits at the gate, and says `after`.
    void will_wait(Gate& gate, std::string before = "one ", std::string after = "two") {
        world.runner.scripts.push_back(
            [&gate, before, after](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
                events.on_chunk(before);
                if (!co_await gate.pass()) co_return fail(ErrorCode::kCancelled, "cancelled");
                events.on_chunk(after);
                co_return before + after;
            });
    }
    std::optional<bool> abort() {
        std::optional<bool> answered;
        world.on_loop([&] { chat->abort([&](bool running) { answered = running; }); });
        return answered;
    }
    void leave(const std::shared_ptr<FakeTarget>& target, bool goodbye = false) {
        world.on_loop([&] { chat->leave(target->connection(), goodbye); });
    }
    /// How many frames end a turn.
    static int ends(const FakeTarget& target) {
        return static_cast<int>(target.of("done").size() + target.of("aborted").size() +
                                target.of("error").size());
    }

    World world;
    std::shared_ptr<Chat> chat = world.open_chat("s1");
    std::shared_ptr<FakeTarget> phone = world.join(chat);
};

TEST_F(Turns, Item37_AGoodTurnEndsWithDoneAndOnlyThat) {
    will_say({"Yes, ", "it is."});
    world.ask(chat, phone, "warm?");
    EXPECT_THAT(phone->types(),
                ElementsAre("agent_start", "chunk", "chunk", "chunk_reset", "done", "agent_end"));
    EXPECT_EQ(
        phone->frames.front(),
        Value::parse(R"({"type":"agent_start","provider":"scripted","model":"parrot-1"})").value());
    EXPECT_EQ(chat->state(), ChatState::kIdle);
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: warm?", "assistant: Yes, it is."));
}

TEST_F(Turns, Item37_EveryFailureIsOneErrorWithItsCode) {
    for (const ErrorCode code : all_error_codes()) {
        phone->frames.clear();
        will_fail(code);
        world.ask(chat, phone, "warm?");
        EXPECT_THAT(phone->types(), ElementsAre("agent_start", "error", "agent_end"))
            << token_of(code);
        const std::string_view expected =
            code == ErrorCode::kUnauthenticated || code == ErrorCode::kAuthRequired ? "AUTH_ERROR"
            : code == ErrorCode::kUnavailable ? "PROVIDER_ERROR"
            : code == ErrorCode::kRateLimited ? "RATE_LIMITED"
            : code == ErrorCode::kForbidden   ? "FORBIDDEN"
                                              : "AGENT_ERROR";
        EXPECT_EQ(text_of(phone->of("error").at(0), "code"), expected) << token_of(code);
        EXPECT_EQ(chat->state(), ChatState::kError);
    }
}

TEST_F(Turns, Item37_ARunnerThatThrowsIsAnAgentErrorAndTheNextTurnRuns) {
    world.runner.scripts.push_back([](const TurnRequest&, TurnEvents&) -> Task<Answer> {
        throw std::runtime_error("secret /path");
        co_return "";
    });
    testing::internal::CaptureStderr();
    world.ask(chat, phone, "warm?");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("secret /path"))
        << "the log tells the operator";
    ASSERT_EQ(ends(*phone), 1);
    EXPECT_EQ(text_of(phone->of("error").at(0), "code"), "AGENT_ERROR");
    EXPECT_EQ(text_of(phone->of("error").at(0), "message").find("secret"), std::string::npos);
    world.ask(chat, phone, "again?");
    EXPECT_EQ(phone->of("done").size(), 1u);
}

TEST_F(Turns, EveryTurnIsToldToHaveBegunAndThenOnceHowItEnded) {
    will_say({"Yes, ", "it is."});
    world.ask(chat, phone, "warm?");
    will_fail(ErrorCode::kUnavailable);
    world.ask(chat, phone, "and now?");
    world.regenerate(chat, phone);
    ASSERT_EQ(world.told_turns.lines.size(), 6u);
    EXPECT_THAT(world.told_turns.lines,
                ElementsAre("begun s1", "answer s1 Yes, it is.", "begun s1",
                            StartsWith("UNAVAILABLE s1"), "begun s1", "answer s1 ok"));
    const core::TurnSummary& story = world.told_turns.stories.front();
    EXPECT_EQ(std::tie(story.agent, story.tenant, story.principal),
              std::tuple("crab", "default", "device/phone"));
    EXPECT_EQ(world.runner.requests.front().turn_id, story.turn_id);
    EXPECT_EQ(world.chats.find_turn(ChatSessionId("s1"), story.turn_id).value()->text,
              "Yes, it is.");
}

TEST_F(Turns, ATurnThatNeverBeganIsNotToldOf) {
    world.regenerate(chat, phone);
    EXPECT_EQ(phone->of("error").size(), 1u);
    EXPECT_THAT(world.told_turns.lines, IsEmpty());
}

TEST_F(Turns, AnAbortedTurnIsToldAsCancelled) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    abort();
    world.settle();
    EXPECT_THAT(world.told_turns.lines,
                ElementsAre("begun s1", "CANCELLED s1 the turn was aborted"));
    EXPECT_EQ(world.chats.find_turn(ChatSessionId("s1"), world.told_turns.stories.front().turn_id)
                  .value()
                  ->outcome,
              "CANCELLED");
}

TEST_F(Turns, Item38_TheFullResponseIsAllChunksAndChunkResetComesRightBeforeIt) {
    will_say({"a", "", "\xC3\xA9\n", "b\"c"});
    world.ask(chat, phone, "?");
    std::string joined;
    for (const Value& chunk : phone->of("chunk")) joined += text_of(chunk, "content");
    EXPECT_EQ(text_of(phone->of("done").at(0), "full_response"), joined);
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "chunk", "chunk", "chunk", "chunk",
                                            "chunk_reset", "done", "agent_end"));
}

TEST_F(Turns, Item38_AnAnswerThatWasNotStreamedIsInDone) {
    world.runner.scripts.push_back(
        [](const TurnRequest&, TurnEvents&) -> Task<Answer> { co_return "whole"; });
    world.ask(chat, phone, "?");
    EXPECT_EQ(text_of(phone->of("done").at(0), "full_response"), "whole");
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: ?", "assistant: whole"));
}

TEST_F(Turns, WhatIsShownBesideAnAnswerIsKeptWithItUpToABound) {
    const std::string large = R"({"version":1,"blocks":[")" + std::string(40'000, 'x') + "\"]}";
    world.runner.scripts.push_back([&](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
        for (int n = 0; n < 2; ++n) events.on_presentation("call_1", large);
        events.on_metrics({.elapsed = Milliseconds(7)});
        co_return "warm";
    });
    world.ask(chat, phone, "?");
    const auto kept = world.chats.messages(ChatSessionId(std::string(chat->id()))).value();
    ASSERT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept[0].display, "");
    EXPECT_EQ(kept[1].display, R"({"presentation":)" + large + R"(,"metrics":{"elapsed_ms":7}})");
    will_fail(ErrorCode::kInternal);
    world.ask(chat, phone, "and?");
    EXPECT_EQ(world.chats.messages(ChatSessionId(std::string(chat->id()))).value().back().display,
              "");
}

TEST_F(Turns, Item39_ArgsAreAnObjectAndOutputsStrings) {
    world.runner.scripts.push_back([](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
        events.on_thinking("hm");
        events.on_tool_call("call_1", "read", R"({"room":"kitchen"})");
        events.on_tool_call("call_2", "read", "{}");
        events.on_tool_result("call_1", "read", R"({"celsius":21.5})");
        events.on_tool_result("call_2", "read", "Error: TIMEOUT: late");
        events.on_chunk("warm");
        co_return "warm";
    });
    world.ask(chat, phone, "?");
    EXPECT_THAT(phone->types(),
                ElementsAre("agent_start", "thinking", "tool_call", "tool_call", "tool_result",
                            "tool_result", "chunk", "chunk_reset", "done", "agent_end"));
    EXPECT_EQ(phone->of("tool_call").at(0),
              Value::parse(
                  R"({"type":"tool_call","id":"call_1","name":"read","args":{"room":"kitchen"}})")
                  .value());
    EXPECT_EQ(
        phone->of("tool_result").at(0),
        Value::parse(
            R"({"type":"tool_result","id":"call_1","name":"read","output":"{\"celsius\":21.5}"})")
            .value());
    EXPECT_EQ(text_of(phone->of("done").at(0), "full_response"), "warm")
        << "thinking is no part of it";
}

TEST_F(Turns, Item36_FramesGoToTheAskerAlone) {
    const auto tablet = world.join(chat);
    will_say({"for the phone"});
    world.ask(chat, phone, "?");
    EXPECT_THAT(tablet->frames, IsEmpty());
    world.ask(chat, tablet, "?");
    EXPECT_EQ(tablet->of("done").size(), 1u);
    EXPECT_EQ(phone->of("done").size(), 1u);
}

TEST_F(Turns, ARequestNamesPrincipalSessionAndConnection) {
    world.ask(chat, phone, "warm?", true);
    const TurnRequest& request = world.runner.requests.at(0);
    EXPECT_EQ(request.principal->id, "device/phone");
    EXPECT_EQ(request.session_id, "s1");
    EXPECT_EQ(request.content, "warm?");
    EXPECT_EQ(request.prefer_connection, phone->connection());
    EXPECT_TRUE(request.debug);
    EXPECT_FALSE(request.regenerate);
}

TEST_F(Turns, Item42_AbortIsAcknowledgedThenTheTurnEndsAsAbortedWithItsPartialTextStored) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    EXPECT_EQ(chat->state(), ChatState::kRunning);
    ASSERT_TRUE(chat->running_turn());
    std::size_t frames_at_ack = 0;
    world.on_loop([&] {
        chat->abort([&](bool running) {
            EXPECT_TRUE(running);
            frames_at_ack = phone->frames.size();
        });
    });
    EXPECT_EQ(frames_at_ack, 2u) << "the acknowledgement comes before the end";
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "chunk", "aborted", "agent_end"));
    EXPECT_THAT(world.stored("s1"),
                ElementsAre("user: ?", "assistant: one \n[interrupted by user]"));
    EXPECT_EQ(chat->state(), ChatState::kIdle);
    EXPECT_FALSE(chat->running_turn());
}

TEST_F(Turns, WhatIsSaidIsKeptWithinHalfASecondWhileTheTurnRuns) {
    Gate gate(world);
    will_wait(gate, "Once upon ", "a time.");
    world.ask(chat, phone, "tell");
    const auto kept = [this] {
        core::ChatSessionMemory& chats = world.chats;
        return chats.draft(ChatSessionId("s1"));
    };
    EXPECT_EQ(kept(), "");
    world.advance(500ms);
    EXPECT_EQ(kept(), "Once upon ");
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: tell"));
    EXPECT_EQ(chat->session().message_count, 1u);
    gate.open();
    world.advance(500ms);
    EXPECT_EQ(kept(), "");
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: tell", "assistant: Once upon a time."));
    EXPECT_EQ(chat->session().message_count, 2u);
}

TEST_F(Turns, Item42_AnAnswerThatCameAtTheSameMomentIsAbortedAllTheSame) {
    Gate gate(world);
    world.runner.scripts.push_back([&gate](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
        (void)co_await gate.pass();
        events.on_chunk("finished");
        co_return "finished";  // a runner that does not look at its cancellation
    });
    world.ask(chat, phone, "?");
    EXPECT_EQ(abort(), true);
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "chunk", "aborted", "agent_end"));
}

TEST_F(Turns, Item42_WithoutATurnThereIsNothingToAbort) {
    EXPECT_EQ(abort(), false);
    world.ask(chat, phone, "?");
    EXPECT_EQ(abort(), false);
    EXPECT_THAT(phone->of("aborted"), IsEmpty());
}

TEST_F(Turns, Item42_ASecondAbortFindsNothingAndTheNextQuestionRuns) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    std::vector<bool> answers;
    world.on_loop([&] {
        chat->abort([&](bool running) { answers.push_back(running); });
        chat->abort([&](bool running) { answers.push_back(running); });
    });
    EXPECT_THAT(answers, ElementsAre(true, false));
    EXPECT_EQ(ends(*phone), 1);
    world.ask(chat, phone, "again?");
    EXPECT_EQ(phone->of("done").size(), 1u);
}

TEST_F(Turns, Item42_WhoIsToldOfAnAbortByRestHearsNothingMoreOfItsOwnFrame) {
    const auto by_frame = [&](const std::shared_ptr<FakeTarget>& target) {
        std::optional<bool> answered;
        world.on_loop(
            [&] { chat->abort([&](bool running) { answered = running; }, target->connection()); });
        return answered;
    };
    const auto tablet = world.join(chat);
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    EXPECT_EQ(abort(), true) << "by REST";
    EXPECT_EQ(ends(*phone), 1);
    EXPECT_EQ(by_frame(phone), std::nullopt);
    EXPECT_EQ(by_frame(tablet), false);
    EXPECT_EQ(by_frame(phone), false) << "one was meant";
    world.ask(chat, phone, "again?");
    EXPECT_EQ(phone->of("done").size(), 1u);
}

TEST_F(Turns, Item42_AnyConnectionOfTheChatMayAbortAndTheAskerHearsOfIt) {
    const auto tablet = world.join(chat);
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    EXPECT_EQ(abort(), true);
    EXPECT_EQ(phone->of("aborted").size(), 1u);
    EXPECT_THAT(tablet->frames, IsEmpty());
}

TEST_F(Turns, Item44_RegenerateDropsTheLastAnswerAndAsksTheLastQuestionAgain) {
    will_say({"first"});
    world.ask(chat, phone, "one");
    will_say({"second"});
    world.ask(chat, phone, "two");
    phone->frames.clear();
    will_say({"better"});
    world.regenerate(chat, phone);
    EXPECT_EQ(text_of(phone->of("done").at(0), "full_response"), "better");
    EXPECT_EQ(world.runner.requests.back().content, "two");
    EXPECT_TRUE(world.runner.requests.back().regenerate);
    EXPECT_THAT(world.stored("s1"),
                ElementsAre("user: one", "assistant: first", "user: two", "assistant: better"));
    EXPECT_EQ(chat->session().message_count, 4u);
}

TEST_F(Turns, Item44_RegenerateAfterAnAbortAsksTheInterruptedQuestionAgain) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "one");
    abort();
    will_say({"better"});
    world.regenerate(chat, phone);
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: one", "assistant: better"));
}

TEST_F(Turns, Item44_WithoutAUserMessageThereIsNothingToRegenerate) {
    world.regenerate(chat, phone);
    EXPECT_THAT(phone->types(), ElementsAre("error"));
    EXPECT_EQ(text_of(phone->frames.at(0), "code"), "NO_USER_MESSAGE");
    EXPECT_THAT(world.runner.requests, IsEmpty());
    EXPECT_EQ(chat->state(), ChatState::kIdle);
}

TEST_F(Turns, Item42_ARegenerationThatIsAbortedBeforeTheModelIsAskedDoesNotAskIt) {
    will_say({"first"});
    world.ask(chat, phone, "one");
    phone->frames.clear();
    world.on_loop([&] {
        chat->ask({.asker = phone,
                   .content = {},
                   .regenerate = true,
                   .debug = false,
                   .prefer_source = {},
                   .on_end = {}});
        chat->abort([](bool running) { EXPECT_TRUE(running); });
    });
    EXPECT_EQ(phone->of("aborted").size(), 1u);
    EXPECT_EQ(ends(*phone), 1);
    EXPECT_EQ(world.runner.requests.size(), 1u);
}

TEST_F(Turns, Item46_ASecondQuestionWaitsForTheFirst) {
    Gate gate(world);
    will_wait(gate);
    will_say({"second"});
    world.ask(chat, phone, "one");
    world.ask(chat, phone, "two");
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "chunk"));
    gate.open();
    EXPECT_THAT(phone->types(),
                ElementsAre("agent_start", "chunk", "chunk", "chunk_reset", "done", "agent_end",
                            "agent_start", "chunk", "chunk_reset", "done", "agent_end"));
    EXPECT_THAT(world.stored("s1"),
                ElementsAre("user: one", "assistant: one two", "user: two", "assistant: second"));
}

TEST_F(Turns, Item46_TheNinthWaitingQuestionIsBusy) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "running");
    for (int i = 0; i < 8; ++i) world.ask(chat, phone, fmt::format("waiting {}", i));
    EXPECT_THAT(phone->of("error"), IsEmpty());
    const auto tablet = world.join(chat);
    world.ask(chat, tablet, "one too many");
    EXPECT_THAT(tablet->types(), ElementsAre("error"));
    EXPECT_EQ(text_of(tablet->frames.at(0), "code"), "SESSION_BUSY");
    gate.open();
    EXPECT_EQ(phone->of("done").size(), 9u);
    EXPECT_EQ(tablet->frames.size(), 1u);
}

TEST_F(Turns, Item46_AQuestionWaits30SecondsAtMost) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "running");
    world.ask(chat, phone, "waiting");
    world.advance(29'990ms);
    EXPECT_THAT(phone->of("error"), IsEmpty());
    world.advance(20ms);
    ASSERT_EQ(phone->of("error").size(), 1u);
    EXPECT_EQ(text_of(phone->of("error").at(0), "code"), "SESSION_BUSY");
    gate.open();
    EXPECT_EQ(phone->of("done").size(), 1u);
    EXPECT_EQ(world.runner.requests.size(), 1u);
}

TEST_F(Turns, Item47_DoneGoesToTheConnectionThatReturnsAndHoldsWhatItMissed) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    leave(phone);
    world.advance(14s);
    const auto back = world.join(chat);
    gate.open();
    EXPECT_THAT(back->types(), ElementsAre("chunk", "chunk_reset", "done", "agent_end"));
    EXPECT_EQ(text_of(back->of("done").at(0), "full_response"), "one two");
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "chunk"));
}

TEST_F(Turns, Item47_ATurnThatEndsWhileNobodyIsThereWaitsForTheReturnWithItsEnd) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    leave(phone);
    gate.open();
    world.advance(10s);
    const auto back = world.join(chat);
    EXPECT_THAT(back->types(), ElementsAre("chunk_reset", "done", "agent_end"));
    EXPECT_EQ(text_of(back->of("done").at(0), "full_response"), "one two");
}

TEST_F(Turns, Item47_ALinkThatBreaksTwiceStillGetsItsDone) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    leave(phone);
    const auto second = world.join(chat);
    leave(second);
    gate.open();
    const auto third = world.join(chat);
    ASSERT_EQ(third->of("done").size(), 1u);
    EXPECT_EQ(text_of(third->of("done").at(0), "full_response"), "one two");
}

TEST_F(Turns, Item47_AConnectionThatWasThereAlreadyTakesOver) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    const auto back = world.join(chat);  // before the old link is known to be dead
    leave(phone);
    gate.open();
    EXPECT_EQ(back->of("done").size(), 1u);
}

TEST_F(Turns, Item47_AQuestionThatWaitedWhileItsLinkBrokeIsAnsweredToTheConnectionThatReturns) {
    Gate gate(world);
    will_wait(gate);
    will_say({"second"});
    world.ask(chat, phone, "one");
    world.ask(chat, phone, "two");
    leave(phone);
    const auto back = world.join(chat);
    gate.open();
    EXPECT_EQ(back->of("done").size(), 2u);
}

TEST_F(Turns, ATurnWhoseLinkBrokeIsCancelledWhenNobodyReturns) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    leave(phone);
    world.advance(14'990ms);
    EXPECT_EQ(chat->state(), ChatState::kRunning);
    world.advance(20ms);
    EXPECT_EQ(chat->state(), ChatState::kIdle);
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: ?", StartsWith("assistant: one ")));
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "chunk"));
}

TEST_F(Turns, AnAnswerThatNobodyFetchesIsStored) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    leave(phone);
    gate.open();
    world.advance(15s + 20ms);
    EXPECT_EQ(chat->state(), ChatState::kIdle);
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: ?", "assistant: one two"));
}

TEST_F(Turns, AGoodbyeCancelsTheTurnAtOnceAndTheQuestionsBehindIt) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "one");
    world.ask(chat, phone, "two");
    leave(phone, true);
    EXPECT_EQ(chat->state(), ChatState::kIdle);
    EXPECT_EQ(world.runner.requests.size(), 1u);
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "chunk"));
}

TEST_F(Turns, AGoodbyeOfAnotherConnectionChangesNothing) {
    const auto tablet = world.join(chat);
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    leave(tablet, true);
    gate.open();
    EXPECT_EQ(phone->of("done").size(), 1u);
}

TEST_F(Turns, AChatThatEverybodyLeftIsForgottenWhenItsTurnHasEnded) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "?");
    leave(phone);
    world.release_chats();
    EXPECT_EQ(world.hub.find_chat(*world.owner, "s1"), chat) << "its turn runs on";
    world.advance(15s + 20ms);
    EXPECT_EQ(world.hub.find_chat(*world.owner, "s1"), nullptr);
}

TEST_F(Turns, QuestionsThatWaitedForPeopleWhoDidNotReturnAreDropped) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "one");
    world.advance(10s);
    world.ask(chat, phone, "two");
    leave(phone);
    world.release_chats();
    world.advance(15s + 20ms);
    EXPECT_EQ(world.runner.requests.size(), 1u);
    EXPECT_EQ(chat->state(), ChatState::kIdle);
    EXPECT_EQ(world.hub.find_chat(*world.owner, "s1"), nullptr);
}

TEST_F(Turns, ItsStepsAreStoredAsTheyHappenAndNoTextTwice) {
    world.runner.scripts.push_back([](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
        events.on_chunk("I look. ");
        events.on_message("assistant", "I look. ", R"({"tool_calls":[]})");
        events.on_message("tool", "warm", "{}");
        events.on_chunk("It is warm.");
        co_return "I look. It is warm.";
    });
    world.ask(chat, phone, "?");
    EXPECT_EQ(text_of(phone->of("done").at(0), "full_response"), "I look. It is warm.");
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: ?", "assistant: I look. ", "tool: warm",
                                                "assistant: It is warm."));
}

TEST_F(Turns, WhatWasSaidBeforeAFailureIsKept) {
    world.runner.scripts.push_back([](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
        events.on_chunk("It is w");
        co_return fail(ErrorCode::kUnavailable, "gone");
    });
    world.ask(chat, phone, "?");
    EXPECT_THAT(world.stored("s1"),
                ElementsAre("user: ?", "assistant: It is w\n[the answer broke off]"));
}

TEST_F(Turns, AChatWithoutANameIsNamedAfterItsFirstAnsweredQuestion) {
    Options options;
    options.give_titles = true;
    world.hub.set_options(std::make_shared<const Options>(options));
    will_fail(ErrorCode::kInternal);
    world.ask(chat, phone, "fails");
    EXPECT_TRUE(phone->of("title_updated").empty());
    world.ask(chat, phone, "How warm is it?\nTell me.");
    EXPECT_EQ(phone->frames.back(),
              Value::parse(R"({"type":"title_updated","title":"How warm is it?"})").value());
    world.ask(chat, phone, "And now?");
    EXPECT_EQ(phone->of("title_updated").size(), 1u);
    EXPECT_EQ(world.chats.find(ChatSessionId("s1")).value()->name, "How warm is it?");
}

TEST_F(Turns, Item48_TheDebugPromptIsSentOnceAndOnlyToThoseWhoAsked) {
    for (int i = 0; i < 2; ++i) {
        world.runner.scripts.push_back([](const TurnRequest&, TurnEvents& events) -> Task<Answer> {
            events.on_debug_prompt(R"([{"role":"user"}])", 12);
            events.on_chunk("a");
            events.on_debug_prompt("[]", 99);
            co_return "a";
        });
    }
    world.ask(chat, phone, "?", true);
    EXPECT_THAT(phone->types(), ElementsAre("agent_start", "debug_prompt", "chunk", "chunk_reset",
                                            "done", "agent_end"));
    EXPECT_EQ(
        phone->frames.at(1),
        Value::parse(
            R"({"type":"debug_prompt","messages":"[{\"role\":\"user\"}]","estimated_tokens":12})")
            .value());
    world.ask(chat, phone, "?", false);
    EXPECT_EQ(phone->of("debug_prompt").size(), 1u);
}

TEST_F(Turns, Item68_TheEndOfATurnIsToldOnce) {
    std::vector<Result<std::string>> ends;
    const auto ask = [&](std::string content) {
        world.on_loop([&] {
            chat->ask({.asker = phone,
                       .content = std::move(content),
                       .regenerate = false,
                       .debug = false,
                       .prefer_source = {},
                       .on_end = [&](const Answer& answer, bool) { ends.push_back(answer); }});
        });
    };
    will_say({"good"});
    ask("one");
    will_fail(ErrorCode::kUnavailable);
    ask("two");
    Gate gate(world);
    will_wait(gate);
    ask("three");
    abort();
    ASSERT_EQ(ends.size(), 3u);
    EXPECT_EQ(ends[0].value(), "good");
    EXPECT_EQ(ends[1].error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(ends[2].error().code, ErrorCode::kCancelled);
}

TEST_F(Turns, AChatThatSomebodyIsAboutToJoinIsKept) {
    const auto client = world.connect("s2");
    // a second connection, whose handshake is not over yet
    const auto opened = world.open_chat("s2");
    world.break_link(client);
    EXPECT_EQ(world.hub.find_chat(*world.owner, "s2"), opened);
    world.release_chats();
    EXPECT_EQ(world.hub.find_chat(*world.owner, "s2"), nullptr);
}

TEST_F(Turns, AChatIsKeptUntilWhatWasSaidIsStoredSoThatNobodyElseTakesItsName) {
    std::promise<void> disk;
    world.pool.post([&] { disk.get_future().wait(); });
    world.loop.post([&] {
        chat->ask({.asker = phone,
                   .content = "?",
                   .regenerate = false,
                   .debug = false,
                   .prefer_source = {},
                   .on_end = {}});
    });
    while (phone->of("agent_end").empty()) world.loop.run_some(1s);
    bool left = false;
    world.loop.post([&] {
        world.release_chats_now();
        left = true;
    });
    while (!left) world.loop.run_some(1s);
    std::optional<ErrorCode> refusal;
    world.loop.post([&] {
        auto stranger = world.hub.open_chat(World::make_principal("stranger"), "s1", "", "");
        refusal = stranger ? ErrorCode::kInternal : stranger.error().code;
    });
    while (!refusal) world.loop.run_some(1s);
    EXPECT_EQ(refusal, ErrorCode::kForbidden);
    disk.set_value();
    world.settle();
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: ?", "assistant: ok"));
}

TEST_F(Turns, WithdrawingAQuestionLeavesThoseOfOthersAlone) {
    const auto tablet = world.join(chat);
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "one");
    world.ask(chat, tablet, "two");
    world.on_loop([&] { chat->withdraw(tablet); });
    gate.open();
    EXPECT_EQ(phone->of("done").size(), 1u);
    EXPECT_THAT(tablet->frames, IsEmpty());
    EXPECT_EQ(world.runner.requests.size(), 1u);

    Gate second(world);
    will_wait(second);
    world.ask(chat, phone, "three");
    world.on_loop([&] { chat->withdraw(phone); });
    EXPECT_EQ(phone->of("aborted").size(), 1u);
}

TEST_F(Turns, StoppingEndsTheTurnAndDropsThoseThatWait) {
    Gate gate(world);
    will_wait(gate);
    world.ask(chat, phone, "one");
    world.ask(chat, phone, "two");
    bool stopped = false;
    world.on_loop([&] { chat->stop([&] { stopped = true; }); });
    EXPECT_TRUE(stopped);
    EXPECT_EQ(phone->of("aborted").size(), 1u);
    EXPECT_EQ(world.runner.requests.size(), 1u);
}

// From here on with real connections, device calls through the pipeline, and a runner that calls
// tools.

class DeviceTurns : public testing::Test {
protected:
    void register_tools(const std::shared_ptr<Client>& on,
                        std::initializer_list<std::string_view> names, std::string_view more = {}) {
        std::string list;
        for (const auto name : names)
            list += fmt::format(R"({}{{"name":"{}","description":"d","parameters":{{}}}})",
                                list.empty() ? "" : ",", name);
        world.send(on, fmt::format(R"({{"type":"register_tools","tools":[{}]{}}})", list, more));
    }
    /// Kept until the test ends, as its calls may end after the turn.
    Batch* make_batch(std::vector<Batch::Item> items) {
        batches_.push_back(std::make_unique<Batch>(world, std::move(items)));
        return batches_.back().get();
    }
    void will_call(std::vector<Batch::Item> items) {
        const auto batch = make_batch(std::move(items));
        world.runner.scripts.push_back(
            [batch](const TurnRequest& request, TurnEvents& events) -> Task<Answer> {
                if (!co_await batch->run(request, events))
                    co_return fail(ErrorCode::kCancelled, "cancelled");
                std::string all;
                for (const auto& item : batch->items) all += item.output + ";";
                events.on_chunk(all);
                co_return all;
            });
    }
    std::string id_of(std::size_t request) const {
        return text_of(client->of("tool_call_request").at(request), "id");
    }
    void answer(std::size_t request, std::string_view output) {
        world.send(client, fmt::format(R"({{"type":"tool_result","id":"{}","output":"{}"}})",
                                       id_of(request), output));
    }

    World world;
    std::shared_ptr<Client> client = world.connect();

private:
    std::vector<std::unique_ptr<Batch>> batches_;
};

TEST_F(DeviceTurns, Item39_EachCallIsAnnouncedBeforeItsRequestAndAcknowledgedBeforeItsResult) {
    register_tools(client, {"read"});
    will_call({{"call_1", "read", R"({"room":"kitchen"})", ""}});
    world.send(client, R"({"type":"message","content":"warm?"})");
    answer(0, "21.5");
    EXPECT_THAT(types_of(client->frames),
                ElementsAre("session_start", "tools_registered", "agent_start", "tool_call",
                            "tool_call_request", "result_acknowledged", "tool_result", "chunk",
                            "chunk_reset", "done", "agent_end"));
    EXPECT_EQ(*client->of("tool_call_request").at(0).find("args"),
              Value::parse(R"({"room":"kitchen"})").value());
    EXPECT_EQ(text_of(client->of("tool_result").at(0), "output"), "21.5");
}

TEST_F(DeviceTurns, Item40_ABatchOfThreeIsOutTogetherAndItsResultsComeInTheModelsOrder) {
    register_tools(client, {"a", "b", "c"});
    will_call({{"call_1", "a", "{}", ""}, {"call_2", "b", "{}", ""}, {"call_3", "c", "{}", ""}});
    world.send(client, R"({"type":"message","content":"?"})");
    EXPECT_EQ(client->of("tool_call_request").size(), 3u);
    for (const std::size_t request : {2u, 0u}) answer(request, fmt::format("answer {}", request));
    EXPECT_THAT(client->of("tool_result"), IsEmpty()) << "not before the whole batch is done";
    answer(1, "answer 1");
    std::vector<std::string> ids;
    for (const Value& frame : client->of("tool_result"))
        ids.push_back(text_of(frame, "id") + " " + text_of(frame, "output"));
    EXPECT_THAT(ids, ElementsAre("call_1 answer 0", "call_2 answer 1", "call_3 answer 2"));
}

TEST_F(DeviceTurns, Item41_TheModelReadsAFailureAndTheTurnGoesOn) {
    register_tools(client, {"a"});
    will_call({{"call_1", "a", "{}", ""}});
    world.send(client, R"({"type":"message","content":"?"})");
    world.send(client,
               fmt::format(R"({{"type":"tool_error","id":"{}","error":"no battery"}})", id_of(0)));
    EXPECT_EQ(text_of(client->of("tool_result").at(0), "output"), "Error: TOOL_FAILED: no battery");
    EXPECT_EQ(client->of("done").size(), 1u);
    EXPECT_THAT(client->of("error"), IsEmpty());
}

TEST_F(DeviceTurns,
       Item42_AbortOfTheOwnTurnIsAnsweredByAbortedAloneAndOfAnothersByAnAcknowledgement) {
    const auto other = world.connect();
    Gate gate(world);
    const auto start = [&] {
        world.runner.scripts.push_back([&gate](const TurnRequest&, TurnEvents&) -> Task<Answer> {
            (void)co_await gate.pass();
            co_return fail(ErrorCode::kCancelled, "cancelled");
        });
        world.send(client, R"({"type":"message","content":"?"})");
        client->frames.clear();
        other->frames.clear();
    };
    start();
    world.send(client, R"({"type":"abort"})");
    EXPECT_THAT(types_of(client->frames), ElementsAre("aborted", "agent_end"));
    start();
    world.send(other, R"({"type":"abort"})");
    EXPECT_THAT(types_of(client->frames), ElementsAre("aborted", "agent_end"));
    EXPECT_THAT(types_of(other->frames), ElementsAre("abort_ack"));
    EXPECT_EQ(text_of(other->frames.back(), "status"), "aborted");
}

TEST_F(DeviceTurns, Item42_AbortReachesIntoAToolCall) {
    world.send(client, R"({"type":"connect","capabilities":["tool_call_cancel"]})");
    register_tools(client, {"slow"});
    will_call({{"call_1", "slow", "{}", ""}});
    world.send(client, R"({"type":"message","content":"?"})");
    ASSERT_EQ(client->of("tool_call_request").size(), 1u);
    client->frames.clear();
    world.send(client, R"({"type":"abort"})");
    const auto types = types_of(client->frames);
    EXPECT_THAT(types, testing::UnorderedElementsAre("tool_call_cancel", "aborted", "agent_end"));
    EXPECT_EQ(text_of(client->of("tool_call_cancel").at(0), "reason"), "cancelled");
    world.send(client, R"({"type":"abort"})");
    EXPECT_EQ(text_of(client->frames.back(), "status"), "no_active_response");
}

TEST_F(DeviceTurns, Item45_ToolsRegisteredDuringATurnAreAnsweredAndUsableInIt) {
    register_tools(client, {"a"});
    const auto first = make_batch({{"call_1", "a", "{}", ""}});
    const auto second = make_batch({{"call_2", "late", "{}", ""}});
    world.runner.scripts.push_back(
        [first, second](const TurnRequest& request, TurnEvents& events) -> Task<Answer> {
            if (!co_await first->run(request, events) || !co_await second->run(request, events))
                co_return fail(ErrorCode::kCancelled, "cancelled");
            events.on_chunk(second->items[0].output);
            co_return second->items[0].output;
        });
    world.send(client, R"({"type":"message","content":"?"})");
    register_tools(client, {"late"});
    EXPECT_EQ(client->of("tools_registered").size(), 2u);
    answer(0, "first");
    ASSERT_EQ(client->of("tool_call_request").size(), 2u);
    answer(1, "second");
    EXPECT_EQ(text_of(client->of("done").at(0), "full_response"), "second");
}

TEST_F(DeviceTurns, Item47_AReturningConnectionBringsTheResultAndGetsTheDone) {
    register_tools(client, {"a"});
    will_call({{"call_1", "a", "{}", ""}});
    world.send(client, R"({"type":"message","content":"?"})");
    const std::string id = id_of(0);
    world.break_link(client);
    const auto back = world.connect();
    EXPECT_EQ(*back->frames.at(0).find("resumed"), Value(true));
    world.send(back,
               fmt::format(R"({{"type":"tool_result","id":"{}","output":"late but good"}})", id));
    EXPECT_EQ(text_of(back->of("done").at(0), "full_response"), "late but good;");
    EXPECT_THAT(back->of("tool_call_request"), IsEmpty()) << "nothing is sent again";
}

TEST_F(DeviceTurns, Item33_AGoodbyeEndsTurnAndCallAtOnce) {
    register_tools(client, {"a"});
    will_call({{"call_1", "a", "{}", ""}});
    world.send(client, R"({"type":"message","content":"?"})");
    world.say_goodbye(client);
    EXPECT_EQ(world.hub.find_chat(*world.owner, "s1"), nullptr);
    EXPECT_THAT(world.stored("s1"), ElementsAre("user: ?", "assistant: [interrupted by user]"));
}

TEST_F(DeviceTurns, Item35_FramesThatAreNoneGetTheirCodesAndTheLinkStays) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"{", "INVALID_JSON"},
        {"[]", "UNKNOWN_MESSAGE_TYPE"},
        {"7", "UNKNOWN_MESSAGE_TYPE"},
        {"{}", "UNKNOWN_MESSAGE_TYPE"},
        {R"({"type":7})", "UNKNOWN_MESSAGE_TYPE"},
        {R"({"type":"dance"})", "UNKNOWN_MESSAGE_TYPE"},
        {R"({"type":"connect"})", "UNKNOWN_MESSAGE_TYPE"},
        {R"({"type":"message"})", "EMPTY_CONTENT"},
        {R"({"type":"message","content":""})", "EMPTY_CONTENT"},
        {R"({"type":"message","content":7})", "EMPTY_CONTENT"},
        {R"({"type":"regenerate"})", "NO_USER_MESSAGE"}};
    for (const auto& [frame, code] : table) {
        client->frames.clear();
        world.send(client, frame);
        ASSERT_EQ(client->frames.size(), 1u) << frame;
        EXPECT_EQ(text_of(client->frames[0], "code"), code) << frame;
    }
    EXPECT_FALSE(client->closed);
}

TEST_F(DeviceTurns, Item35_AnUnknownTypeInAnyAlphabetIsQuotedAsText) {
    for (std::size_t ascii = 0; ascii < 4; ++ascii) {
        std::string type(ascii, 'x');
        for (int i = 0; i < 40; ++i) type += "\xE2\x82\xAC";
        world.send(client, fmt::format(R"({{"type":"{}"}})",
                                       type));  // Client fails the test when a frame is no JSON,
                                                // the link when it is not UTF-8
    }
    EXPECT_FALSE(client->closed);
    EXPECT_EQ(client->of("error").size(), 4u);
}

TEST_F(DeviceTurns, Item36_RolesLimitWhatAConnectionMayDo) {
    const auto only_device =
        world.connect(World::make_principal("sensor", {core::Role::kDevice}), "s2");
    for (const char* frame : {R"({"type":"message","content":"?"})", R"({"type":"regenerate"})",
                              R"({"type":"abort"})"}) {
        only_device->frames.clear();
        world.send(only_device, frame);
        ASSERT_EQ(only_device->frames.size(), 1u);
        EXPECT_EQ(text_of(only_device->frames[0], "code"), "FORBIDDEN");
    }
    const auto only_caller =
        world.connect(World::make_principal("desk", {core::Role::kCaller}), "s3");
    only_caller->frames.clear();
    register_tools(only_caller, {"a"});
    EXPECT_EQ(text_of(only_caller->frames.at(0), "code"), "FORBIDDEN");
    EXPECT_THAT(world.runner.requests, IsEmpty());
}

TEST_F(DeviceTurns, Item36_ADeviceThatOffersToolsChatsAboutThemWithoutTheRoleCaller) {
    const auto phone = world.connect(World::make_principal("phone", {core::Role::kDevice}), "s2");
    register_tools(phone, {"take_photo"});
    world.send(phone, R"({"type":"message","content":"?"})");
    EXPECT_EQ(world.runner.requests.size(), 1u);
}

}  // namespace
}  // namespace crab::clawseed
