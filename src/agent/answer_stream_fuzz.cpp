// The streams of both kinds of models: cutting one anywhere changes nothing, what was heard is what
// the answer holds, limits hold, and whatever was said can be asked on with.

#include "agent/anthropic_messages.hpp"
#include "agent/chat_completions.hpp"
#include "agent/history.hpp"
#include "json/value.hpp"
#include "net/codec/fuzz_check.hpp"
#include "net/codec/sse.hpp"

#include <string>
#include <string_view>

namespace {

using namespace crab;
using namespace crab::agent;
using crab::require;

struct Heard final : AnswerSink {
    void on_text(std::string_view piece) override { text += piece; }
    void on_thinking(std::string_view piece) override { thinking += piece; }
    std::string text, thinking;
};

struct Read {
    std::string text, thinking, requests;
    bool whole = false, failed = false;
    bool operator==(const Read&) const = default;
};

template <class NextSize>
Read read(const ModelApi& api, std::string_view bytes, NextSize next_size) {
    Heard heard;
    const auto reader = api.reader(heard);
    net::SseParser parser(4'096);
    Read result;
    while (!bytes.empty() && !result.failed) {
        std::string_view in = bytes.substr(0, next_size());
        bytes.remove_prefix(in.size());
        for (auto event = parser.next(in);
             event.kind == net::SseEvent::Kind::kEvent && !result.failed; event = parser.next(in)) {
            result.failed = !reader->on_event(event.type, event.data).has_value();
        }
    }
    result.whole = reader->whole();
    const bool any = reader->heard();
    ModelAnswer answer = reader->take();
    require(answer.text == heard.text, "the answer is what was heard");
    require(any == (!heard.text.empty() || !heard.thinking.empty()),
            "it knows whether anything was heard");
    require(answer.requests.size() <= AnswerLimits{}.requests, "the number of requests is bounded");
    for (const ToolRequest& request : answer.requests)
        result.requests += request.id + "|" + request.tool + "|" + request.args + "\n";
    // as the turn loop does with what is not an object
    for (ToolRequest& request : answer.requests) request.args = "{}";
    result.text = answer.text;
    result.thinking = heard.thinking;

    Conversation conversation{
        {.role = MessageRole::kUser, .text = "?"},
        {.role = MessageRole::kAssistant, .text = answer.text, .requests = answer.requests}};
    for (const ToolRequest& request : answer.requests)
        conversation.push_back({.role = MessageRole::kTool,
                                .text = answer.text,
                                .requests = {},
                                .request_id = request.id,
                                .tool = request.tool});
    std::string body;
    api.write(body, {.system = "s", .messages = conversation, .tools = {}}, ToolNames{},
              {.model = "m", .max_output_tokens = 0});
    require(json::Value::parse(body).has_value(),
            "the next request is JSON without members of one name");
    require(json::Value::parse(requests_extra(answer.requests)).has_value(),
            "what is stored is JSON");
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const ChatCompletions chat;
    const AnthropicMessages messages;
    for (const ModelApi* api :
         {static_cast<const ModelApi*>(&chat), static_cast<const ModelApi*>(&messages)}) {
        const Read whole = read(*api, bytes, [] { return std::string_view::npos; });
        std::size_t step = 0;
        require(read(*api, bytes, [&] { return 1 + step++ % 7; }) == whole,
                "cutting the stream changes nothing");
    }
    (void)refusal_text(bytes);
    return 0;
}
