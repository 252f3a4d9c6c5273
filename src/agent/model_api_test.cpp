// Both vendors' forms: what is written for a conversation, and what is read from a stream.

#include "agent/anthropic_messages.hpp"
#include "agent/chat_completions.hpp"
#include "json/value.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crab::agent {
namespace {

using json::Value;

struct Heard final : AnswerSink {
    void on_text(std::string_view piece) override { text += piece; }
    void on_thinking(std::string_view piece) override { thinking += piece; }
    std::string text, thinking;
};

Conversation talk() {
    return {{.role = MessageRole::kUser, .text = "how warm?"},
            {.role = MessageRole::kAssistant,
             .text = "",
             .requests = {{.id = "c1", .tool = "room.read", .args = R"({"room":"kitchen"})"}}},
            {.role = MessageRole::kTool,
             .text = "Error: TIMEOUT: asleep",
             .requests = {},
             .request_id = "c1",
             .tool = "room.read"},
            {.role = MessageRole::kUser, .text = "again"}};
}

const std::vector<OfferedToolRef> kTools{std::make_shared<const OfferedTool>(
    OfferedTool{.name = "room.read",
                .description = "Reads",
                .schema = R"({"type":"object","properties":{}})"})};

Value written(const ModelApi& api, bool may_call = true) {
    const Conversation messages = talk();
    const std::vector<std::string_view> names{"room.read"};
    std::string out;
    api.write(out,
              {.system = "be kind", .messages = messages, .tools = kTools, .may_call = may_call},
              ToolNames(names), {.model = "parrot", .max_output_tokens = 0});
    return Value::parse(out).value();
}

Value written_by(const ModelApi& api, const Conversation& messages, const ModelSettings& settings) {
    std::string out;
    api.write(out, {.system = "", .messages = messages, .tools = kTools}, ToolNames(), settings);
    return Value::parse(out).value();
}

TEST(ChatCompletions, WriteAConversation) {
    const Value body = written(ChatCompletions());
    EXPECT_EQ(*body.resolve("/messages/0"),
              Value::parse(R"({"role":"system","content":"be kind"})").value());
    EXPECT_EQ(*body.resolve("/messages/2"),
              Value::parse(
                  R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",)"
                  R"("function":{"name":"room_read","arguments":"{\"room\":\"kitchen\"}"}}]})")
                  .value());
    EXPECT_EQ(
        *body.resolve("/messages/3"),
        Value::parse(R"({"role":"tool","tool_call_id":"c1","content":"Error: TIMEOUT: asleep"})")
            .value());
    EXPECT_EQ(
        *body.resolve("/tools/0"),
        Value::parse(R"({"type":"function","function":{"name":"room_read","description":"Reads",)"
                     R"("parameters":{"type":"object","properties":{}}}})")
            .value());
    EXPECT_EQ(body.find("tool_choice"), nullptr);
    EXPECT_EQ(*written(ChatCompletions(), false).find("tool_choice"), Value("none"));
}

TEST(AnthropicMessages, WriteAConversationWithRolesThatAlternate) {
    const Value body = written(AnthropicMessages());
    EXPECT_EQ(*body.find("system"), Value("be kind"));
    EXPECT_EQ(*body.find("max_tokens"), Value(8'192));
    EXPECT_EQ(*body.resolve("/messages"), Value::parse(R"([
        {"role":"user","content":[{"type":"text","text":"how warm?"}]},
        {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"room_read",)"
                                                       R"("input":{"room":"kitchen"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1",)"
                                                       R"("content":"Error: TIMEOUT: asleep",)"
                                                       R"("is_error":true},{"type":"text",)"
                                                       R"("text":"again"}]}])")
                                              .value());
    EXPECT_EQ(*body.resolve("/tools/0/name"), Value("room_read"));
}

TEST(ChatCompletions, ReadTextReasoningCallsAndUsage) {
    Heard heard;
    const auto reader = ChatCompletions().reader(heard);
    for (const std::string_view event :
         {R"({"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]})",
          R"({"choices":[{"index":0,"delta":{"content":"I lo"}}]})",
          R"({"choices":[{"index":0,"delta":{"content":"ok"}},{"index":1,)"
          R"("delta":{"content":"another"}}]})",
          R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1",)"
          R"("function":{"name":"look","arguments":"{\"a\""}}]}}]})",
          R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2",)"
          R"("function":{"name":"hear"}},{"index":0,"function":{"arguments":":1}"}}]}}]})",
          R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})",
          R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3}})"}) {
        EXPECT_TRUE(reader->on_event("message", event)) << event;
    }
    EXPECT_TRUE(reader->whole());
    EXPECT_FALSE(reader->finished());
    EXPECT_TRUE(reader->on_event("message", "[DONE]"));
    EXPECT_TRUE(reader->finished());
    const ModelAnswer answer = reader->take();
    EXPECT_EQ(heard.text, "I look");
    EXPECT_EQ(heard.thinking, "hm");
    ASSERT_EQ(answer.requests.size(), 2U);
    EXPECT_EQ(answer.requests[0].args, R"({"a":1})");
    EXPECT_EQ(answer.requests[1].tool, "hear");
    EXPECT_EQ(answer.usage.input, 5);
    EXPECT_EQ(answer.usage.output, 3);
}

/// The answer that a stream of these events makes; fails when one is refused or the end is missing.
ModelAnswer read(const ModelApi& api, std::initializer_list<std::string_view> events,
                 Heard& heard) {
    const auto reader = api.reader(heard);
    for (const std::string_view event : events)
        EXPECT_TRUE(reader->on_event("message", event)) << event;
    EXPECT_TRUE(reader->whole());
    return reader->take();
}

TEST(ChatCompletions, ReadCallsThatComeWholeAndAllInOnePlace) {
    Heard heard;
    const ModelAnswer with_ids = read(
        ChatCompletions(),
        {R"({"choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"id":"a",)"
         R"("function":{"name":"look","arguments":"{\"n\":1}"}}]}}]})",
         R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"look",)"
         R"("arguments":"{\"n\":2}"}}]},"finish_reason":"tool_calls"}]})"},
        heard);
    ASSERT_EQ(with_ids.requests.size(), 2U);
    EXPECT_EQ(with_ids.requests[1].args, R"({"n":2})");
    const ModelAnswer without_ids = read(
        ChatCompletions(),
        {R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"look","arguments":"{}"}},)"
         R"({"function":{"name":"hear","arguments":{"loud":true}}}]}}]})",
         R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"smell",)"
         R"("arguments":"{}"}}]},"finish_reason":"stop"}]})"},
        heard);
    ASSERT_EQ(without_ids.requests.size(), 3U);
    EXPECT_EQ(without_ids.requests[1].args, R"({"loud":true})");
    EXPECT_EQ(without_ids.requests[2].tool, "smell");
}

TEST(ChatCompletions, ReadANameThatEveryPieceRepeatsAsOneCall) {
    Heard heard;
    const ModelAnswer answer = read(
        ChatCompletions(),
        {R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look",)"
         R"("arguments":"{\"n\""}}]}}]})",
         R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":null,"function":{"name":"look",)"
         R"("arguments":":1}"}}]},"finish_reason":"tool_calls"}]})"},
        heard);
    ASSERT_EQ(answer.requests.size(), 1U);
    EXPECT_EQ(answer.requests[0].args, R"({"n":1})");
}

TEST(ChatCompletions, ReadWhatServersDoDifferently) {
    Heard heard;
    const ModelAnswer answer =
        read(ChatCompletions(),
             {R"({"choices":[],"prompt_filter_results":[]})",
              R"({"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":null},)"
              R"("finish_reason":null}],"usage":null})",
              R"({"choices":[{"delta":{"reasoning":"h","reasoning_content":"h"}}]})",
              R"({"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text",)"
              R"("text":"m"}]}]}}]})",
              R"({"choices":[{"delta":{"content":[{"type":"text","text":"I "}]}}]})",
              R"({"choices":[{"delta":{"refusal":"won't"}}],"usage":{"prompt_tokens":1}})",
              R"({"choices":[{"delta":null,"finish_reason":"content_filter"}],"timings":{}})",
              R"({"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}})", "[DONE] "},
             heard);
    EXPECT_EQ(heard.text, "I won't");
    EXPECT_EQ(heard.thinking, "hm");
    EXPECT_TRUE(answer.withheld);
    EXPECT_EQ(answer.usage.input, 4);
}

TEST(ChatCompletions, AskOpenAiForALimitThatCountsReasoning) {
    const auto limit_of = [](bool within) {
        std::string out;
        ChatCompletions().write(
            out, {.system = "", .messages = {}, .tools = {}}, ToolNames(),
            {.model = "m", .max_output_tokens = 9, .reasons_within_limit = within});
        return Value::parse(out).value();
    };
    EXPECT_EQ(*limit_of(false).find("max_tokens"), Value(9));
    EXPECT_EQ(*limit_of(true).find("max_completion_tokens"), Value(9));
    EXPECT_EQ(limit_of(true).find("max_tokens"), nullptr);
}

TEST(AnthropicMessages, ReadArgumentsThatComeWithTheBlockAndARefusal) {
    Heard heard;
    const ModelAnswer answer = read(
        AnthropicMessages(),
        {R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1",)"
         R"("name":"look","input":{"n":1}}})",
         R"({"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t2",)"
         R"("name":"look","input":{}}})",
         R"({"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta",)"
         R"("partial_json":""}})",
         R"({"type":"content_block_start","index":2,"content_block":{"type":"something_new"}})",
         R"({"type":"something_new"})",
         R"({"type":"message_delta","delta":{"stop_reason":"refusal"}})",
         R"({"type":"message_stop"})"},
        heard);
    ASSERT_EQ(answer.requests.size(), 2U);
    EXPECT_EQ(answer.requests[0].args, R"({"n":1})");
    EXPECT_EQ(answer.requests[1].args, "");
    EXPECT_TRUE(answer.withheld);
}

TEST(AnthropicMessages, WriteIdsOfOtherVendorsInAFormThatTheirsTakes) {
    Conversation messages = talk();
    messages[1].requests[0].id = messages[2].request_id = "functions.read:0";
    const Value body = written_by(AnthropicMessages(), messages, {.model = "m"});
    EXPECT_EQ(*body.resolve("/messages/1/content/0/id"), Value("functions_read_0"));
    EXPECT_EQ(*body.resolve("/messages/2/content/0/tool_use_id"), Value("functions_read_0"));
}

TEST(AnthropicMessages, ReadTextReasoningCallsAndUsage) {
    Heard heard;
    const auto reader = AnthropicMessages().reader(heard);
    for (const std::string_view event :
         {R"({"type":"message_start","message":{"usage":{"input_tokens":5,)"
          R"("cache_read_input_tokens":2,"output_tokens":1}}})",
          R"({"type":"ping"})",
          R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking",)"
          R"("thinking":""}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta",)"
          R"("thinking":"hm"}})",
          R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})",
          R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta",)"
          R"("text":"I look"}})",
          R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1",)"
          R"("name":"look","input":{}}})",
          R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta",)"
          R"("partial_json":"{\"a\""}})",
          R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta",)"
          R"("partial_json":":1}"}})",
          R"({"type":"content_block_stop","index":2})",
          R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"},)"
          R"("usage":{"output_tokens":9}})"}) {
        EXPECT_TRUE(reader->on_event("", event)) << event;
    }
    EXPECT_TRUE(reader->whole());
    EXPECT_TRUE(reader->on_event("", R"({"type":"message_stop"})"));
    EXPECT_TRUE(reader->finished());
    const ModelAnswer answer = reader->take();
    EXPECT_EQ(answer.text, "I look");
    EXPECT_EQ(heard.thinking, "hm");
    ASSERT_EQ(answer.requests.size(), 1U);
    EXPECT_EQ(answer.requests[0].args, R"({"a":1})");
    EXPECT_EQ(answer.usage.input, 7);
    EXPECT_EQ(answer.usage.output, 9);
    EXPECT_TRUE(answer.cut_short);
}

Conversation thought(std::string model, std::string reasoning) {
    Conversation messages = talk();
    messages.pop_back();
    messages[1].reasoning = {.model = std::move(model), .text = std::move(reasoning)};
    return messages;
}

TEST(AnthropicMessages, HandSignedThinkingBackToTheModelWhoseItIs) {
    Heard heard;
    const auto reader = AnthropicMessages().reader(heard);
    for (const std::string_view event :
         {R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking",)"
          R"("thinking":"","signature":""}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta",)"
          R"("thinking":"h\"m"}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta",)"
          R"("signature":"c2ln"}})",
          R"({"type":"content_block_stop","index":0})",
          R"({"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking",)"
          R"("data":"eHg="}})",
          R"({"type":"content_block_stop","index":1})",
          R"({"type":"content_block_start","index":2,"content_block":{"type":"thinking",)"
          R"("thinking":"unsigned"}})",
          R"({"type":"content_block_stop","index":2})"}) {
        EXPECT_TRUE(reader->on_event("", event)) << event;
    }
    const ModelAnswer answer = reader->take();
    const Conversation messages = thought("parrot", answer.reasoning.text);
    const Value body =
        written_by(AnthropicMessages(), messages, {.model = "parrot", .thinking_tokens = 2'048});
    EXPECT_EQ(*body.resolve("/messages/1/content/0"),
              Value::parse(R"({"type":"thinking","thinking":"h\"m","signature":"c2ln"})").value());
    EXPECT_EQ(*body.resolve("/messages/1/content/1"),
              Value::parse(R"({"type":"redacted_thinking","data":"eHg="})").value());
    EXPECT_EQ(*body.resolve("/messages/1/content/2/type"), Value("tool_use"));
    EXPECT_EQ(*body.find("thinking"),
              Value::parse(R"({"type":"enabled","budget_tokens":2048})").value());
    EXPECT_EQ(*body.find("max_tokens"), Value(10'240));
}

TEST(AnthropicMessages, GoOnWithoutThinkingInATurnThatAnotherModelBegan) {
    const Conversation messages =
        thought("another", R"({"type":"thinking","thinking":"x","signature":"y"})");
    const Value body =
        written_by(AnthropicMessages(), messages, {.model = "parrot", .thinking_tokens = 2'048});
    EXPECT_EQ(body.find("thinking"), nullptr);
    EXPECT_EQ(*body.resolve("/messages/1/content/0/type"), Value("tool_use"));
}

TEST(ChatCompletions, HandReasoningBackWhereItIsWanted) {
    const Conversation messages = thought("parrot", "hm");
    EXPECT_EQ(
        *written_by(ChatCompletions(), messages, {.model = "parrot", .return_reasoning = true})
             .resolve("/messages/1/reasoning_content"),
        Value("hm"));
    EXPECT_EQ(written_by(ChatCompletions(), messages, {.model = "parrot"})
                  .resolve("/messages/1/reasoning_content"),
              nullptr);
    EXPECT_EQ(written_by(ChatCompletions(), messages, {.model = "other", .return_reasoning = true})
                  .resolve("/messages/1/reasoning_content"),
              nullptr);
}

TEST(ChatCompletions, HandSignaturesOfCallsBackToTheModelWhoseTheyAre) {
    Heard heard;
    ModelAnswer answer = read(ChatCompletions(),
                              {R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1",)"
                               R"("function":{"name":"room_read","arguments":"{}"},)"
                               R"("extra_content":{"google":{"thought_signature":"x"}}}]},)"
                               R"("finish_reason":"tool_calls"}]})"},
                              heard);
    Conversation messages = thought("parrot", "");
    messages[1].requests = std::move(answer.requests);
    EXPECT_EQ(*written_by(ChatCompletions(), messages, {.model = "parrot"})
                   .resolve("/messages/1/tool_calls/0/extra_content"),
              Value::parse(R"({"google":{"thought_signature":"x"}})").value());
    EXPECT_EQ(written_by(ChatCompletions(), messages, {.model = "other"})
                  .resolve("/messages/1/tool_calls/0/extra_content"),
              nullptr);
}

TEST(Readers, GiveTheVendorsErrorInTheMiddleOfAStreamItsMeaning) {
    Heard heard;
    EXPECT_EQ(
        AnthropicMessages()
            .reader(heard)
            ->on_event("error",
                       R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})")
            .error()
            .code,
        ErrorCode::kUnavailable);
    EXPECT_EQ(ChatCompletions()
                  .reader(heard)
                  ->on_event("", R"({"error":{"message":"out of memory","code":500}})")
                  .error()
                  .code,
              ErrorCode::kUnavailable);
    EXPECT_EQ(ChatCompletions()
                  .reader(heard)
                  ->on_event("", R"({"object":"error","message":"too long","code":400})")
                  .error()
                  .message,
              "the model's server did not take the request (HTTP 400): too long");
}

TEST(Readers, RefuseWhatHasNoEnd) {
    Heard heard;
    const auto reader = ChatCompletions().reader(heard);
    const std::string event =
        R"({"choices":[{"delta":{"content":")" + std::string(100'000, 'x') + R"("}}]})";
    Result<void> taken;
    for (int i = 0; i < 100 && taken; ++i) taken = reader->on_event("", event);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::kOversize);
    EXPECT_LE(heard.text.size(), std::size_t{1} << 20);
}

TEST(Readers, AreNotWholeWhenNothingSaidThatTheAnswerEnds) {
    Heard heard;
    const auto chat = ChatCompletions().reader(heard);
    EXPECT_TRUE(
        chat->on_event("", R"({"choices":[{"delta":{"content":"half"},"finish_reason":""}]})"));
    EXPECT_FALSE(chat->whole());
    const auto messages = AnthropicMessages().reader(heard);
    EXPECT_TRUE(messages->on_event(
        "",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}})"));
    EXPECT_FALSE(messages->whole());
}

/// The deltas of chat completions that make this text, cut into pieces of that size.
std::vector<std::string> deltas(std::string_view text, std::size_t piece) {
    std::vector<std::string> events;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        events.push_back(R"({"choices":[{"delta":{"content":)" +
                         Value(std::string(text.substr(at, piece))).dump() + "}}]}");
    }
    return events;
}

TEST(Readers, TakeThinkAtTheBeginningOfATextAsReasoningWhereverItIsCut) {
    struct Case {
        std::string_view said, text, thinking;
    };
    for (const auto& [said, text, thinking] :
         {Case{"<think>hm < a</think>\n\nIt is 3 < 4.", "It is 3 < 4.", "hm < a"},
          Case{" \n<think>\nso\n</think>Yes", "Yes", "\nso\n"},
          Case{"<think></think>Yes", "Yes", ""}, Case{"<thin air>", "<thin air>", ""},
          Case{"<thi", "<thi", ""}, Case{"  hello", "  hello", ""},
          Case{"Say <think>x</think>", "Say <think>x</think>", ""},
          Case{"<think>never </thin", "", "never </thin"},
          Case{"<think>a</think>b<think>c</think>", "b<think>c</think>", "a"}}) {
        for (const std::size_t piece : {1, 2, 3, 5, 100}) {
            Heard chat_heard, messages_heard;
            const auto chat = ChatCompletions().reader(chat_heard);
            for (const std::string& event : deltas(said, piece))
                ASSERT_TRUE(chat->on_event("", event));
            ASSERT_TRUE(chat->on_event("", R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"));
            EXPECT_TRUE(chat->whole());
            const auto messages = AnthropicMessages().reader(messages_heard);
            for (std::size_t at = 0; at < said.size(); at += piece) {
                const std::string delta = Value(std::string(said.substr(at, piece))).dump();
                ASSERT_TRUE(messages->on_event(
                    "", R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta",)"
                        R"("text":)" +
                            delta + "}}"));
            }
            ASSERT_TRUE(messages->on_event("", R"({"type":"message_stop"})"));
            for (const Heard& heard : {chat_heard, messages_heard}) {
                EXPECT_EQ(heard.text, text) << said << " by " << piece;
                EXPECT_EQ(heard.thinking, thinking) << said << " by " << piece;
            }
            EXPECT_EQ(chat->take().reasoning.text, thinking) << "for models that want it back";
            EXPECT_EQ(messages->take().text, text);
        }
    }
}

/// A question with a picture, and a tool that gave one.
Conversation seen() {
    const auto bytes = std::make_shared<const std::string>("aGk=");
    Conversation messages = talk();
    messages[0].pictures = {{.id = "att_1", .mime_type = "image/png", .base64 = bytes}};
    messages[2].text = "[a picture]";
    messages[2].pictures = {{.mime_type = "image/jpeg", .base64 = bytes}};
    return messages;
}

TEST(ChatCompletions, ShowPicturesToModelsThatSeeAndTellOthersOfThem) {
    const Value body = written_by(ChatCompletions(), seen(), {.model = "m", .sees = true});
    EXPECT_EQ(*body.resolve("/messages/0/content"),
              Value::parse(R"([{"type":"text","text":"how warm?"},{"type":"image_url",)"
                           R"("image_url":{"url":"data:image/png;base64,aGk="}}])")
                  .value());
    EXPECT_EQ(*body.resolve("/messages/2/role"), Value("tool"));
    EXPECT_EQ(*body.resolve("/messages/3/role"), Value("user"));
    EXPECT_EQ(*body.resolve("/messages/3/content/1/image_url/url"),
              Value("data:image/jpeg;base64,aGk="));
    EXPECT_EQ(*body.resolve("/messages/4/content"), Value("again"));
    const Value blind = written_by(ChatCompletions(), seen(), {.model = "m"});
    EXPECT_EQ(*blind.resolve("/messages/0/content"),
              Value("how warm?\n[there is a picture here that this model cannot see]"));
}

TEST(AnthropicMessages, ShowPicturesToModelsThatSee) {
    const Value body = written_by(AnthropicMessages(), seen(), {.model = "m", .sees = true});
    const Value png =
        Value::parse(
            R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}})")
            .value();
    EXPECT_EQ(*body.resolve("/messages/0/content/0"), png);
    EXPECT_EQ(*body.resolve("/messages/2/content/0/content/1/source/media_type"),
              Value("image/jpeg"));
    EXPECT_NE(written_by(AnthropicMessages(), seen(), {.model = "m"}).dump().find("cannot see"),
              std::string::npos);
}

TEST(ChatCompletions, ReadAnAnswerThatComesWhole) {
    Heard heard;
    const auto reader = ChatCompletions().reader(heard);
    ASSERT_TRUE(reader->on_whole(
        R"({"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
        R"("content":"<think>hm</think>I look","tool_calls":[
        {"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}},{"id":"b",)"
        R"("type":"function","function":{"name":"hear","arguments":"{}"}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":3}})"));
    EXPECT_TRUE(reader->whole());
    const ModelAnswer answer = reader->take();
    EXPECT_EQ(heard.text, "I look");
    EXPECT_EQ(heard.thinking, "hm");
    ASSERT_EQ(answer.requests.size(), 2U);
    EXPECT_EQ(answer.requests[0].args, R"({"n":1})");
    EXPECT_EQ(answer.requests[1].tool, "hear");
    EXPECT_EQ(answer.usage.output, 3);
    EXPECT_FALSE(
        ChatCompletions().reader(heard)->on_whole(R"({"error":{"message":"no","code":500}})"));
    const auto nothing = ChatCompletions().reader(heard);
    EXPECT_TRUE(nothing->on_whole(R"({"hello":"world"})"));
    EXPECT_FALSE(nothing->whole());
}

TEST(AnthropicMessages, ReadAnAnswerThatComesWhole) {
    Heard heard;
    const auto reader = AnthropicMessages().reader(heard);
    ASSERT_TRUE(reader->on_whole(
        R"({"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm",)"
        R"("signature":"c2ln"},{"type":"text","text":"I look"},
        {"type":"tool_use","id":"t1","name":"look","input":{"n":1}}],"stop_reason":"tool_use",)"
        R"("usage":{"input_tokens":5,"output_tokens":9}})"));
    EXPECT_TRUE(reader->whole());
    const ModelAnswer answer = reader->take();
    EXPECT_EQ(heard.text, "I look");
    EXPECT_EQ(heard.thinking, "hm");
    ASSERT_EQ(answer.requests.size(), 1U);
    EXPECT_EQ(answer.requests[0].args, R"({"n":1})");
    EXPECT_EQ(answer.usage.input, 5);
    EXPECT_EQ(answer.reasoning.text, R"({"type":"thinking","thinking":"hm","signature":"c2ln"})");
    EXPECT_FALSE(AnthropicMessages().reader(heard)->on_whole(
        R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})"));
}

TEST(Readers, TakeTwoHundredAndFiftySixCallsInOneAnswerAndNoMore) {
    Heard heard;
    const auto reader = ChatCompletions().reader(heard);
    const auto event = [](int n) {
        return fmt::format(R"({{"choices":[{{"delta":{{"tool_calls":[{{"index":{0},"id":"c{0}",)"
                           R"("function":{{"name":"look","arguments":"{{}}"}}}}]}}}}]}})",
                           n);
    };
    for (int i = 0; i < 256; ++i) ASSERT_TRUE(reader->on_event("", event(i))) << i;
    const auto taken = reader->on_event("", event(256));
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::kOversize);
}

TEST(AnthropicMessages, RefuseArgumentsOfACallThatWasNotBegun) {
    Heard heard;
    const auto reader = AnthropicMessages().reader(heard);
    EXPECT_FALSE(reader->on_event(
        "", R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta",)"
            R"("partial_json":"{}"}})"));
}

}  // namespace
}  // namespace crab::agent
