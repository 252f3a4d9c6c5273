#pragma once

#include "adapters/mcp/wire/request_id.hpp"
#include "adapters/mcp/wire/request_meta.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"
#include "json/parser.hpp"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// JSON-RPC 2.0 as MCP restricts it, from bytes. Source: docs/protocols/mcp.md, section 2.1.
namespace crab::mcp {

inline constexpr std::size_t kMaxBatch = 32;
inline constexpr std::size_t kMaxRequest = std::size_t{4} << 20;  ///< `mcp.max_request`
inline constexpr std::size_t kMaxReply = std::size_t{8} << 20;    ///< `mcp.max_reply`

/// One message. Its views point into the text that it was read from.
struct Message {
    enum class Kind : std::uint8_t { kRequest, kNotification, kResult, kError };

    Kind kind = Kind::kNotification;
    /// Of requests and responses; an error to an id that could not be read has none
    std::optional<RequestId> id;
    std::string method;       ///< of requests and notifications; not empty
    std::string_view params;  ///< an object, the bytes that came; empty when there is none
    RequestMeta meta;  ///< of the params
    std::string_view result;  ///< an object, the bytes that came; of kResult only
    RpcError error;           ///< of kError only
    /// Of responses: an object in it, at any depth, has two members of one name, so that readers
    /// may take different ones
    bool is_ambiguous = false;
    /// The params, as long as the parser has not gone on; none for members of a batch
    std::optional<json::Borrowed> parsed_params;
};

/// Why bytes are no message, and what to answer.
struct Refusal {
    RpcError error;
    std::optional<RequestId> id;  ///< if it could be read
    int http_status = 400;  ///< 413 when it is too large
};
using MessageReading = std::expected<Message, Refusal>;

/// Reads one message; an array is refused. Depth and size are the parser's limits; two members of
/// one name, at any depth of a request, are refused, for the checks here and the upstream behind
/// might take different ones.
/// Errors: -32700 for what is not JSON or not UTF-8 or too deep; -32600 for any other shape.
MessageReading read_message(std::string_view text, json::Parser& parser);
/// The same into `message`, which is empty, and means nothing if this fails.
std::expected<void, Refusal> read_message(std::string_view text, json::Parser& parser,
                                          Message& message);

/// What one POST, or one line, carried. A batch has a reading for each of its members, in order:
/// one that is refused costs the others nothing.
struct Body {
    bool is_batch = false;
    std::vector<MessageReading> messages;  ///< at least one, and one exactly without a batch
};
/// Where batches are taken: reads a message, or a batch of 1 to 32 without `initialize`.
std::expected<Body, Refusal> read_body(std::string_view text, json::Parser& parser);

}  // namespace crab::mcp
