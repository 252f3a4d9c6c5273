#pragma once

#include "adapters/mcp/wire/message_reader.hpp"
#include "net/codec/sse.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// JSON-RPC messages as server-sent events: what net/codec/sse.hpp reads and writes, by MCP's
/// rules. Source: docs/protocols/mcp.md, section 2.5. The comment that keeps a stream awake is
/// net::append_sse_ping().
namespace crab::mcp {

/// Appends `event: message`, the id if there is one, and the message on one line. False, and
/// nothing written, for an id that has a line end or a NUL.
[[nodiscard]] bool append_message_event(std::string& out, std::string_view id,
                                        std::string_view message);
/// The first event of a POST stream of 2025-11-25: an id to resume after, and empty data.
[[nodiscard]] bool append_priming_event(std::string& out, std::string_view id);

/// What the next event of a stream is to MCP.
struct StreamPart {
    enum class Kind : std::uint8_t {
        kNeedMore,
        kMessage,
        kEndpoint,  ///< of HTTP+SSE (section 2.7): the path to POST to
        kOversize,  ///< an event above the limit: the request fails, the connection is of no use
    };

    Kind kind = Kind::kNeedMore;
    std::string_view data{};  ///< until the following next()
};

/// Reads a stream in pieces of any size. Events of other types and those without data give no part;
/// their ids and delays count. Memory: one event of at most `max_message` bytes.
class EventStream {
public:
    explicit EventStream(std::size_t max_message = kMaxReply);

    /// Consumes from the front of `in` up to the end of the next part.
    StreamPart next(std::string_view& in);
    /// Of the last event that ended, for `Last-Event-ID`; empty when none had an id.
    const std::string& last_id() const { return events_.last_id(); }
    std::optional<std::chrono::milliseconds> retry() const { return events_.retry(); }

private:
    std::size_t max_message_;
    net::SseParser events_;
    bool oversize_ = false;
};

}  // namespace crab::mcp
