#include "base/test_clock.hpp"
#include "store/postgres/chat_session_store_postgres.hpp"
#include "store/postgres/node_table_postgres.hpp"
#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace crab::store::postgres {
namespace {

using namespace std::chrono_literals;
using core::ChatMessage;

/// A process of a node, as far as chats go.
struct ChatNode {
    ChatNode(const ConnectionOptions& options, std::uint16_t its_number, std::uint32_t boot)
        : number(its_number),
          table(options),
          incarnation(static_cast<std::int32_t>(table.begin(number, boot).value().incarnation)),
          chats(options, [this] {
              return NodeClaim{.number = static_cast<std::int16_t>(number),
                               .incarnation = incarnation};
          }) {}

    const std::uint16_t number;
    NodeTablePostgres table;
    std::atomic<std::int32_t> incarnation;
    ChatSessionStorePostgres chats;
};

struct ChatClaimsTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
        Connection database(options);
        ASSERT_TRUE(StoresPostgres::open({.database = options, .fleet = "harbour"}));
        ASSERT_EQ(node_number(database, "north").value(), 1);
        ASSERT_EQ(node_number(database, "south").value(), 2);
        one.emplace(options, 1, 11);
        two.emplace(options, 2, 22);
    }
    Result<void> say(ChatNode& node, std::string role, std::string text, std::string outcome = {}) {
        return node.chats.append(session, {.role = std::move(role),
                                           .content = std::move(text),
                                           .created_at = now += 1s,
                                           .extra = {},
                                           .turn = "t",
                                           .outcome = std::move(outcome)});
    }
    std::vector<std::string> said() {
        std::vector<std::string> texts;
        for (const ChatMessage& message : one->chats.messages(session.id).value())
            texts.push_back(message.content);
        return texts;
    }
    /// Another node finds that it is dead.
    void fence(ChatNode& by, const ChatNode& other) {
        for (const fleet::NodeRow& row : by.table.read().value()) {
            if (row.name.number == other.number) {
                ASSERT_TRUE(by.table.fence(row.name, row.beats).value());
            }
        }
    }

    ConnectionOptions options;
    std::optional<ChatNode> one, two;
    SystemTime now = FakeClock().system_now();
    const core::NewChatSession session{.id = ChatSessionId("kitchen"),
                                       .owner = "device/phone",
                                       .name = {},
                                       .persona = {},
                                       .created_at = now};
};

TEST_F(ChatClaimsTest, WhileATurnRunsAtOneNodeNoOtherHasTheSession) {
    ASSERT_TRUE(one->chats.claim(session, now));
    ASSERT_TRUE(say(*one, "user", "hello"));
    const auto refused = two->chats.claim(session, now);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    ASSERT_TRUE(say(*one, "assistant", "hi", "answer"));
    ASSERT_TRUE(one->chats.release(session.id));
    const auto claimed = two->chats.claim(session, now);
    ASSERT_TRUE(claimed);
    EXPECT_EQ(claimed->message_count, 2u) << "it sees the rest";
    EXPECT_FALSE(one->chats.claim(session, now));
    ASSERT_TRUE(one->chats.release(session.id)) << "which is not its own";
    EXPECT_FALSE(one->chats.claim(session, now));
}

TEST_F(ChatClaimsTest, WhatAFencedNodeLeftIsClosedByTheNextAndItWritesNoMore) {
    ASSERT_TRUE(one->chats.claim(session, now));
    ASSERT_TRUE(say(*one, "user", "hello"));
    ASSERT_TRUE(
        one->chats.keep_draft(session, {.turn = "t", .content = "I was", .created_at = now}));
    fence(*two, *one);
    ASSERT_TRUE(two->chats.claim(session, now));
    EXPECT_EQ(said(),
              (std::vector<std::string>{"hello", "I was\n" + std::string(core::kUnanswered)}));
    EXPECT_EQ(say(*one, "assistant", "late", "answer").error().code, ErrorCode::kConflict);
    EXPECT_EQ(one->chats.keep_draft(session, {.turn = "t", .content = "late", .created_at = now})
                  .error()
                  .code,
              ErrorCode::kConflict);
    EXPECT_EQ(one->chats.reopen(session.id).error().code, ErrorCode::kConflict);
    ASSERT_TRUE(say(*two, "user", "again"));
    EXPECT_EQ(said().size(), 3u);
}

TEST_F(ChatClaimsTest, ANodeThatWasFencedAndHasNotLostItsChatGoesOn) {
    ASSERT_TRUE(one->chats.claim(session, now));
    ASSERT_TRUE(say(*one, "user", "hello"));
    fence(*two, *one);
    one->incarnation = static_cast<std::int32_t>(one->table.begin(1, 11).value().incarnation);
    EXPECT_TRUE(say(*one, "assistant", "hi", "answer"));
    EXPECT_TRUE(one->chats.release(session.id));
}

TEST_F(ChatClaimsTest, ANodesStartClosesWhatNodesLeftThatHaveEndedAndNothingElse) {
    const core::NewChatSession running{.id = ChatSessionId("running"),
                                       .owner = "device/phone",
                                       .name = {},
                                       .persona = {},
                                       .created_at = now};
    ASSERT_TRUE(two->chats.claim(running, now));
    ASSERT_TRUE(two->chats.append(running, {.role = "user", .content = "wait", .created_at = now}));
    ASSERT_TRUE(one->chats.claim(session, now));
    ASSERT_TRUE(say(*one, "user", "hello"));
    one.emplace(options, 1, 12);  // another process, the former one is dead
    EXPECT_EQ(one->chats.close_unanswered(core::kUnanswered, now).value(), 1u);
    EXPECT_EQ(said(), (std::vector<std::string>{"hello", std::string(core::kUnanswered)}));
    EXPECT_EQ(two->chats.messages(running.id)->size(), 1u) << "it runs";
    EXPECT_TRUE(two->chats.append(
        running, {.role = "assistant", .content = "done", .created_at = now, .outcome = "answer"}));
    EXPECT_TRUE(two->chats.claim(session, now)) << "it is nobody's";
}

TEST_F(ChatClaimsTest, TurnsThatClaimNothingAreClosedTooWhenTheirNodeHasEnded) {
    ASSERT_TRUE(say(*one, "user", "an event"));
    EXPECT_EQ(two->chats.close_unanswered(core::kUnanswered, now).value(), 0u) << "it runs";
    fence(*two, *one);
    EXPECT_EQ(two->chats.close_unanswered(core::kUnanswered, now).value(), 1u);
    ASSERT_TRUE(say(*two, "user", "another event"));
    ASSERT_TRUE(say(*two, "assistant", "done", "answer"));
    one.emplace(options, 1, 12);
    EXPECT_TRUE(one->chats.claim(session, now)) << "it is over";
}

}  // namespace
}  // namespace crab::store::postgres
