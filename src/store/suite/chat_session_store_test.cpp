#include "core/chat/chat_session_store.hpp"

#include "base/test_clock.hpp"
#include "core/chat/test_chat_session_store.hpp"
#include "store/suite/test_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace crab::store {
namespace {

using namespace std::chrono_literals;
using core::ChatMessage;
using core::ChatSession;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

/// The one in memory, which other tests use, keeps the same promises.
class ChatSessionStoreTest : public StoreSuite {
protected:
    core::OpenedChatSession open(std::string id, std::string owner = "device/phone",
                                 std::string name = {}) {
        return store
            ->open({.id = ChatSessionId(std::move(id)),
                    .owner = std::move(owner),
                    .name = std::move(name),
                    .persona = "butler",
                    .created_at = now})
            .value();
    }
    void add(const ChatSessionId& id, ChatMessage message) {
        if (message.created_at == SystemTime{}) message.created_at = now += 1s;
        ASSERT_TRUE(store->append(
            {.id = id, .owner = "device/phone", .name = {}, .persona = {}, .created_at = now},
            message));
    }
    void say(const ChatSessionId& id, std::string text) {
        add(id, {.role = "user", .content = std::move(text)});
    }

    std::unique_ptr<core::ChatSessionStore> store =
        in_memory() ? std::make_unique<core::ChatSessionMemory>()
                    : engine().records().open_chats().value();
    SystemTime now = FakeClock().system_now();
    const ChatSessionId kitchen{"kitchen"};
};

TEST_P(ChatSessionStoreTest, OpeningMakesASessionOnceAndThenReturnsItWithItsOwner) {
    const auto first = open("kitchen");
    EXPECT_TRUE(first.created);
    EXPECT_EQ(first.session.persona, "butler");
    EXPECT_EQ(first.session.created_at, now);
    now += 1h;
    const auto again = store
                           ->open({.id = kitchen,
                                   .owner = "device/other",
                                   .name = "Mine",
                                   .persona = "pirate",
                                   .created_at = now})
                           .value();
    EXPECT_FALSE(again.created);
    EXPECT_EQ(again.session.owner, "device/phone");
    EXPECT_EQ(again.session.name, "") << "another principal names nothing";
    EXPECT_EQ(again.session.persona, "butler");
    EXPECT_EQ(again.session.last_activity, now - 1h);
}

TEST_P(ChatSessionStoreTest, ANameIsTakenOnlyWhileThereIsNone) {
    open("kitchen");
    EXPECT_EQ(open("kitchen", "device/phone", "Dinner").session.name, "Dinner");
    EXPECT_EQ(open("kitchen", "device/phone", "Lunch").session.name, "Dinner");
    ASSERT_TRUE(store->rename(kitchen, "Supper"));
    EXPECT_EQ(store->find(kitchen).value()->name, "Supper");
}

TEST_P(ChatSessionStoreTest, TheCountIsOfWhatPeopleAreShown) {
    open("kitchen");
    say(kitchen, "warm?");
    add(kitchen,
        {.role = "assistant", .content = "", .created_at = {}, .extra = R"({"tool_calls":[]})"});
    add(kitchen, {.role = "tool", .content = "21"});
    add(kitchen, {.role = "tool", .content = ""});
    add(kitchen, {.role = "assistant", .content = "Yes."});
    EXPECT_EQ(store->find(kitchen).value()->message_count, 3u);
    EXPECT_EQ(store->list("device/phone").value().at(0).message_count, 3u);
    EXPECT_EQ(store->reopen(kitchen).value()->message_count, 1u);
    EXPECT_EQ(store->close_unanswered("[none]", now).value(), 1u);
    EXPECT_EQ(store->find(kitchen).value()->message_count, 2u);
    say(kitchen, "");  // a picture alone
    EXPECT_EQ(store->find(kitchen).value()->message_count, 3u);
}

TEST_P(ChatSessionStoreTest, ADraftIsNoMessageUntilItIsFoundThatNothingFollowed) {
    say(kitchen, "tell");
    const core::NewChatSession session{
        .id = kitchen, .owner = "device/phone", .name = {}, .persona = {}, .created_at = now};
    ASSERT_TRUE(store->keep_draft(session, {.turn = "t1", .content = "Once", .created_at = now}));
    ASSERT_TRUE(
        store->keep_draft(session, {.turn = "t1", .content = "Once upon", .created_at = now}));
    EXPECT_EQ(store->messages(kitchen).value().size(), 1u);
    EXPECT_EQ(store->close_unanswered("[broke off]", now).value(), 1u);
    const auto messages = store->messages(kitchen).value();
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[1].content, "Once upon\n[broke off]");
    EXPECT_EQ(messages[1].turn, "t1");
    EXPECT_EQ(store->find(kitchen).value()->message_count, 2u);
    EXPECT_EQ(store->close_unanswered("[broke off]", now).value(), 0u);
}

TEST_P(ChatSessionStoreTest, WhatFollowsEndsADraft) {
    const core::NewChatSession session{
        .id = kitchen, .owner = "device/phone", .name = {}, .persona = {}, .created_at = now};
    const auto draft = [&] {
        ASSERT_TRUE(
            store->keep_draft(session, {.turn = "t1", .content = "Once", .created_at = now}));
    };
    say(kitchen, "tell");
    draft();
    add(kitchen, {.role = "assistant", .content = "Once upon a time."});
    EXPECT_EQ(store->close_unanswered("[broke off]", now).value(), 0u);
    draft();
    ASSERT_TRUE(store->reopen(kitchen).value());
    EXPECT_EQ(store->close_unanswered("[broke off]", now).value(), 1u) << "the question";
    EXPECT_EQ(store->messages(kitchen).value().at(1).content, "[broke off]");
    draft();
    EXPECT_TRUE(store->remove(kitchen).value());
    EXPECT_EQ(store->close_unanswered("[broke off]", now).value(), 0u);
    EXPECT_EQ(
        store
            ->keep_draft({.id = kitchen, .owner = "", .name = {}, .persona = {}, .created_at = now},
                         {.turn = {}, .content = {}, .created_at = now})
            .error()
            .code,
        ErrorCode::kInvalidArgs);
}

TEST_P(ChatSessionStoreTest, PicturesBelongToTheirSessionAndGoWithIt) {
    const core::NewChatSession session{
        .id = kitchen, .owner = "device/phone", .name = {}, .persona = {}, .created_at = now};
    const auto picture = [](int n) {
        return core::Picture{.id = "att_" + std::string(30, 'a') + std::to_string(10 + n % 90),
                             .mime_type = "image/png",
                             .bytes = 3,
                             .width = 2,
                             .height = 1};
    };
    const std::string bytes("a\0b", 3);
    ASSERT_TRUE(store->keep_picture(session, picture(1), bytes, now));
    const auto kept = store->find_picture(kitchen, picture(1).id).value();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->bytes, bytes);
    EXPECT_EQ(kept->picture.mime_type, "image/png");
    EXPECT_EQ(kept->picture.width, 2u);
    EXPECT_FALSE(store->find_picture(ChatSessionId("cellar"), picture(1).id).value())
        << "of another session";
    const core::NewChatSession theirs{
        .id = kitchen, .owner = "device/other", .name = {}, .persona = {}, .created_at = now};
    EXPECT_EQ(store->keep_picture(theirs, picture(2), bytes, now).error().code,
              ErrorCode::kForbidden);
    EXPECT_TRUE(store->remove(kitchen).value());
    EXPECT_FALSE(store->find_picture(kitchen, picture(1).id).value());
}

TEST_P(ChatSessionStoreTest, ASessionHasABoundedNumberOfPictures) {
    const core::NewChatSession session{
        .id = kitchen, .owner = "device/phone", .name = {}, .persona = {}, .created_at = now};
    for (std::size_t i = 0; i < core::kMostSessionPictures; ++i) {
        ASSERT_TRUE(store->keep_picture(session,
                                        {.id = "p" + std::to_string(i),
                                         .mime_type = "image/png",
                                         .bytes = 1,
                                         .width = 1,
                                         .height = 1},
                                        "x", now));
    }
    EXPECT_EQ(store->keep_picture(session, {.id = "one more", .mime_type = "image/png"}, "x", now)
                  .error()
                  .code,
              ErrorCode::kRateLimited);
}

TEST_P(ChatSessionStoreTest, MalformedIdsAndOwnerlessSessionsAreRefused) {
    for (const std::string& id : {std::string(), std::string("a b"), std::string("a/b"),
                                  std::string("ü"), std::string(129, 'a')}) {
        EXPECT_EQ(store->open({.id = ChatSessionId(id), .owner = "device/phone"}).error().code,
                  ErrorCode::kInvalidArgs)
            << id;
    }
    EXPECT_EQ(store->open({.id = kitchen, .owner = ""}).error().code, ErrorCode::kInvalidArgs);
    EXPECT_TRUE(open(std::string(128, 'a')).created);
}

TEST_P(ChatSessionStoreTest, MessagesComeBackInOrderWithEverything) {
    open("kitchen");
    const ChatMessage message{.role = "assistant",
                              .content = "line\nün\"",
                              .created_at = now + 5s,
                              .extra = R"({"tool_calls":[]})"};
    say(kitchen, "first");
    add(kitchen, message);
    const auto messages = store->messages(kitchen).value();
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[0].content, "first");
    EXPECT_EQ(messages[0].extra, "");
    EXPECT_EQ(
        std::tie(messages[1].role, messages[1].content, messages[1].created_at, messages[1].extra),
        std::tie(message.role, message.content, message.created_at, message.extra));
    EXPECT_EQ(store->find(kitchen).value()->message_count, 2u);
    EXPECT_EQ(store->find(kitchen).value()->last_activity, message.created_at);
}

TEST_P(ChatSessionStoreTest, AnOwnerSeesOwnSessionsLatestActivityFirst) {
    open("a");
    open("b");
    open("c", "caller/other");
    say(ChatSessionId("b"), "hello");
    say(ChatSessionId("a"), "hello");
    EXPECT_THAT(store->list("device/phone").value(),
                ElementsAre(Field(&ChatSession::id, ChatSessionId("a")),
                            Field(&ChatSession::id, ChatSessionId("b"))));
    EXPECT_THAT(store->list("device/nobody").value(), IsEmpty());
}

TEST_P(ChatSessionStoreTest, ARemovedSessionLeavesNoMessagesToALaterOneOfItsId) {
    open("kitchen");
    say(kitchen, "secret");
    EXPECT_TRUE(store->remove(kitchen).value());
    EXPECT_FALSE(store->remove(kitchen).value());
    EXPECT_FALSE(store->find(kitchen).value());
    EXPECT_TRUE(open("kitchen", "device/other").created);
    EXPECT_THAT(store->messages(kitchen).value(), IsEmpty());
}

TEST_P(ChatSessionStoreTest, AQuestionThatIsReopenedLosesWhatFollowedIt) {
    for (const char* text : {"one", "two"}) say(kitchen, text);
    add(kitchen, {.role = "assistant", .content = "answer"});
    say(ChatSessionId("other"), "stays");
    const auto reopened = store->reopen(kitchen).value();
    ASSERT_TRUE(reopened);
    EXPECT_EQ(reopened->content, "two");
    EXPECT_EQ(reopened->message_count, 2u);
    EXPECT_EQ(store->messages(kitchen).value().back().content, "two");
    EXPECT_EQ(store->find(kitchen).value()->message_count, 2u);
    EXPECT_EQ(store->find(ChatSessionId("other")).value()->message_count, 1u);
}

TEST_P(ChatSessionStoreTest, TheLatestMessagesAreWholeTurnsThatFit) {
    const auto contents = [&](std::size_t most_bytes) {
        std::vector<std::string> found;
        for (const ChatMessage& message : store->latest(kitchen, most_bytes).value())
            found.push_back(message.content);
        return found;
    };
    EXPECT_THAT(contents(100), IsEmpty());
    for (const char* text : {"1", "2", "3"}) {
        say(kitchen, std::string("question ") + text);
        add(kitchen, {.role = "assistant", .content = "answer"});
    }
    EXPECT_THAT(contents(0), ElementsAre("question 3", "answer"));
    EXPECT_THAT(contents(31), ElementsAre("question 3", "answer"));
    EXPECT_THAT(contents(32), ElementsAre("question 2", "answer", "question 3", "answer"));
    EXPECT_EQ(contents(1'000).size(), 6u);
}

TEST_P(ChatSessionStoreTest, WhatPeopleAreShownBesideAnAnswerTakesNoRoomFromModels) {
    say(kitchen, "question 1");
    add(kitchen, {.role = "assistant",
                  .content = "answer",
                  .outcome = "answer",
                  .display = R"({"metrics":{}})"});
    say(kitchen, "question 2");
    add(kitchen, {.role = "assistant", .content = "answer", .outcome = "answer"});
    EXPECT_EQ(store->messages(kitchen).value().at(1).display, R"({"metrics":{}})");
    const auto latest = store->latest(kitchen, 32).value();
    ASSERT_EQ(latest.size(), 4u);
    EXPECT_EQ(latest[1].display, "");
    EXPECT_EQ(store->close_unanswered("never answered", now).value(), 0u);
}

TEST_P(ChatSessionStoreTest, ATurnIsFoundOnceItsLastWordsAreStored) {
    const auto part = [&](std::string role, std::string content, std::string outcome = {}) {
        add(kitchen, {.role = std::move(role),
                      .content = std::move(content),
                      .created_at = now,
                      .extra = {},
                      .turn = "t1",
                      .outcome = std::move(outcome)});
    };
    part("user", "how warm?");
    part("assistant", "Let me see. ");
    part("tool", "21");
    EXPECT_FALSE(store->find_turn(kitchen, "t1").value());
    part("assistant", "It is 21.", "answer");
    say(kitchen, "and now?");
    const auto turn = store->find_turn(kitchen, "t1").value();
    ASSERT_TRUE(turn);
    EXPECT_EQ(std::tie(turn->outcome, turn->text), std::tuple("answer", "Let me see. It is 21."));
    EXPECT_FALSE(store->find_turn(kitchen, "t2").value());
    EXPECT_FALSE(store->find_turn(ChatSessionId("other"), "t1").value());
}

TEST_P(ChatSessionStoreTest, WhatWasNeverAnsweredIsClosedWithANote) {
    const auto put = [&](const ChatSessionId& id, std::string role, std::string extra = {}) {
        add(id, {.role = std::move(role),
                 .content = "x",
                 .created_at = now,
                 .extra = std::move(extra)});
    };
    const ChatSessionId answered{"answered"}, calling{"calling"}, told{"told"}, empty{"empty"};
    for (const ChatSessionId& id : {kitchen, answered, calling, told, empty}) open(id.text());
    say(kitchen, "hello?");
    put(answered, "user");
    put(answered, "assistant");
    put(calling, "user");
    put(calling, "assistant", R"({"tool_calls":[]})");
    put(told, "tool", "{}");
    EXPECT_EQ(store->close_unanswered("[no answer]", now).value(), 3u);
    for (const ChatSessionId& id : {kitchen, calling, told}) {
        const auto messages = store->messages(id).value();
        EXPECT_EQ(messages.back().role, "assistant") << id.text();
        EXPECT_EQ(messages.back().content, "[no answer]");
        EXPECT_EQ(store->find(id).value()->message_count, messages.size());
    }
    EXPECT_EQ(store->messages(answered).value().size(), 2u);
    EXPECT_TRUE(store->messages(empty).value().empty());
    EXPECT_EQ(store->close_unanswered("[no answer]", now).value(), 0u);
}

TEST_P(ChatSessionStoreTest, AnUnknownSessionIsNotFoundOrEmpty) {
    EXPECT_EQ(store->rename(kitchen, "x").error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(store->reopen(kitchen).value());
    EXPECT_THAT(store->messages(kitchen).value(), IsEmpty());
}

TEST_P(ChatSessionStoreTest, AMessageMakesItsSessionButEntersNoOther) {
    say(kitchen, "hello");
    EXPECT_EQ(store->find(kitchen).value()->owner, "device/phone");
    EXPECT_EQ(
        store->append({.id = kitchen, .owner = "device/other"}, {.role = "user", .content = "mine"})
            .error()
            .code,
        ErrorCode::kForbidden);
    EXPECT_EQ(store->append({.id = ChatSessionId("a b"), .owner = "device/other"}, {}).error().code,
              ErrorCode::kInvalidArgs);
    EXPECT_EQ(store->messages(kitchen).value().size(), 1u);
}

CRAB_EACH_ENGINE_AND_MEMORY(ChatSessionStoreTest);

}  // namespace
}  // namespace crab::store
