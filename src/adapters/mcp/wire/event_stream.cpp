#include "adapters/mcp/wire/event_stream.hpp"

#include "json/raw_parts.hpp"

namespace crab::mcp {
namespace {

// The parser's limit counts the names of fields, too; the one that counts here is that of the data.
constexpr std::size_t kFieldNames = 4096;

}  // namespace

bool append_message_event(std::string& out, std::string_view id, std::string_view message) {
    if (message.find_first_of("\r\n") == std::string_view::npos)
        return net::append_sse_event(out, "message", id, message);
    std::string line;
    json::append_one_line(line, message);
    return net::append_sse_event(out, "message", id, line);
}

bool append_priming_event(std::string& out, std::string_view id) {
    return net::append_sse_event(out, {}, id, {});
}

EventStream::EventStream(std::size_t max_message)
    : max_message_(max_message), events_(max_message + kFieldNames) {}

StreamPart EventStream::next(std::string_view& in) {
    using Kind = StreamPart::Kind;
    while (!oversize_) {
        const net::SseEvent event = events_.next(in);
        if (event.kind == net::SseEvent::Kind::kNeedMore) return {};
        if (event.kind == net::SseEvent::Kind::kRefused || event.data.size() > max_message_) {
            oversize_ = true;
        } else if (!event.data.empty()) {
            if (event.type == "message") return {.kind = Kind::kMessage, .data = event.data};
            if (event.type == "endpoint") return {.kind = Kind::kEndpoint, .data = event.data};
        }
    }
    in = {};
    return {.kind = Kind::kOversize};
}

}  // namespace crab::mcp
