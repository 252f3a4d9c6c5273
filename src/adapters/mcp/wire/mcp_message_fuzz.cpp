// Any bytes as a message and as a batch: what is read can be written again and reads back the same,
// and its parts are JSON of their own.

#include "adapters/mcp/wire/message_reader.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
#include "base/fuzz_check.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>

namespace {

using namespace crab;
using namespace crab::mcp;

bool is_object(std::string_view text) {
    json::Parser parser;
    const auto root = parser.parse(text);
    return root && root->element().is_object();
}

std::string rewritten(const Message& message) {
    std::string out;
    switch (message.kind) {
        case Message::Kind::kRequest:
            append_request(out, *message.id, message.method, message.params);
            break;
        case Message::Kind::kNotification:
            append_notification(out, message.method, message.params);
            break;
        case Message::Kind::kResult: append_result(out, *message.id, message.result); break;
        case Message::Kind::kError:
            append_error(out, message.id ? &*message.id : nullptr, Era::kModern, message.error);
            break;
    }
    return out;
}

void check(const Message& message) {
    require(message.params.empty() || is_object(message.params), "params are an object");
    require(message.result.empty() || is_object(message.result), "a result is an object");
    const std::string text = rewritten(message);
    json::Parser parser;
    const auto again = read_message(text, parser);
    require(again.has_value(), "what is written can be read");
    require(again->kind == message.kind && again->id == message.id &&
                again->method == message.method && again->params == message.params &&
                again->result == message.result && again->error == message.error,
            "and says the same");
    std::string line;
    append_line(line, text);
    require(std::ranges::count(line, '\n') == 1 && line.find('\r') == line.npos,
            "a line is one line");
    line.pop_back();
    require(read_message(line, parser).has_value(), "and a message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (json::RawParts parts(text); parts.next();) (void)json::read_raw_string(parts.value());
    json::Parser parser;
    if (const auto message = read_message(text, parser)) check(*message);
    const auto body = read_body(text, parser);
    if (!body) return 0;
    require(!body->messages.empty() && body->messages.size() <= kMaxBatch, "a batch has a size");
    for (const MessageReading& reading : body->messages) {
        if (reading) check(*reading);
    }
    return 0;
}
