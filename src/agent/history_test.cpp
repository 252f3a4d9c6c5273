#include "agent/history.hpp"

#include <gtest/gtest.h>

namespace crab::agent {
namespace {

core::ChatMessage said(std::string role, std::string content, std::string extra = {}) {
    return {.role = std::move(role),
            .content = std::move(content),
            .created_at = {},
            .extra = std::move(extra)};
}

ToolRequest wants(std::string id) {
    return {.id = std::move(id), .tool = "look", .args = R"({"at":"sky"})"};
}

std::string shape(const Conversation& conversation) {
    std::string text;
    for (const Message& message : conversation) {
        switch (message.role) {
            case MessageRole::kUser: text += 'u'; break;
            case MessageRole::kAssistant: text += message.requests.empty() ? 'a' : 'A'; break;
            case MessageRole::kTool: text += 't'; break;
        }
    }
    return text;
}

/// Whether every request is answered, in its batch, before anybody else speaks.
bool is_whole(const Conversation& conversation) {
    std::size_t open = 0;
    for (const Message& message : conversation) {
        if (message.role == MessageRole::kTool) {
            if (open-- == 0) return false;
        } else {
            if (open != 0) return false;
            open = message.requests.size();
        }
    }
    return open == 0;
}

TEST(History, ComesBackAsItWasSaid) {
    const std::vector<ToolRequest> requests{wants("1"), wants("2")};
    const std::vector<core::ChatMessage> stored{
        said("user", "what?"), said("assistant", "let me see", requests_extra(requests)),
        said("tool", "blue", result_extra(requests[0])),
        said("tool", "grey", result_extra(requests[1])), said("assistant", "blue and grey")};
    const Conversation conversation = to_conversation(stored);
    ASSERT_EQ(shape(conversation), "uAtta");
    EXPECT_EQ(conversation[1].requests[1].id, "2");
    EXPECT_EQ(conversation[1].requests[1].args, R"({"at":"sky"})");
    EXPECT_EQ(conversation[3].request_id, "2");
    EXPECT_EQ(conversation[3].tool, "look");
}

TEST(History, OfATurnThatNeverEndedSaysSo) {
    const std::vector<ToolRequest> requests{wants("1"), wants("2")};
    const std::vector<core::ChatMessage> stored{
        said("user", "what?"), said("assistant", "", requests_extra(requests)),
        said("tool", "grey", result_extra(requests[1])), said("user", "well?")};
    const Conversation conversation = to_conversation(stored);
    ASSERT_EQ(shape(conversation), "uAttu");
    EXPECT_TRUE(conversation[3].text.starts_with("Error: OUTCOME_UNKNOWN: "));
    EXPECT_EQ(conversation[3].request_id, "1");
}

TEST(History, DropsResultsThatNobodyAskedForAndIsNotMisledByDamage) {
    const std::vector<core::ChatMessage> stored{
        said("tool", "lost", R"({"call_id":"9"})"), said("user", "hi"),
        said("assistant", "ho", "{broken"), said("tool", "x", "7"), said("else", "y")};
    EXPECT_EQ(shape(to_conversation(stored)), "ua");
}

Conversation long_talk(int turns, std::size_t output_bytes = 400) {
    Conversation conversation;
    for (int i = 0; i < turns; ++i) {
        conversation.push_back({.role = MessageRole::kUser, .text = std::string(40, 'q')});
        conversation.push_back(
            {.role = MessageRole::kAssistant, .text = "", .requests = {wants("1"), wants("2")}});
        conversation.push_back({.role = MessageRole::kTool,
                                .text = std::string(output_bytes, 'o'),
                                .requests = {},
                                .request_id = "1"});
        conversation.push_back({.role = MessageRole::kTool,
                                .text = std::string(output_bytes, 'o'),
                                .requests = {},
                                .request_id = "2"});
        conversation.push_back({.role = MessageRole::kAssistant, .text = "so it is"});
    }
    return conversation;
}

TEST(Trimming, NeverSplitsACallFromItsResultWhateverTheRoom) {
    for (std::size_t room = 0; room < 3'000; room += 7) {
        Conversation conversation = long_talk(10);
        conversation.push_back({.role = MessageRole::kUser, .text = "and now?"});
        trim(conversation, room);
        EXPECT_TRUE(is_whole(conversation)) << room;
        ASSERT_FALSE(conversation.empty());
        EXPECT_EQ(conversation.front().role, MessageRole::kUser) << room;
        EXPECT_EQ(conversation.back().text, "and now?");
        if (room > 100) EXPECT_LE(estimated_tokens(conversation), room);
    }
}

TEST(Trimming, LeavesAloneWhatFits) {
    Conversation conversation = long_talk(3);
    trim(conversation, estimated_tokens(conversation));
    EXPECT_EQ(conversation.size(), 15U);
}

TEST(Trimming, OfOneLongTurnLeavesOutOlderOutputsButNotTheLastBatch) {
    Conversation conversation = long_talk(1, 40'000);
    conversation.pop_back();
    conversation.push_back({.role = MessageRole::kAssistant, .text = "", .requests = {wants("3")}});
    conversation.push_back({.role = MessageRole::kTool,
                            .text = std::string(40'000, 'n'),
                            .requests = {},
                            .request_id = "3"});
    trim(conversation, 5'000);
    EXPECT_EQ(shape(conversation), "uAttAt");
    EXPECT_TRUE(conversation[2].text.starts_with("[an output of 40000 bytes"));
    EXPECT_EQ(conversation.back().text.size(), 40'000U);
}

}  // namespace
}  // namespace crab::agent
