#pragma once

#include "adapters/mcp/wire/request_id.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"
#include "json/token_parts.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

/// `_meta` of a request's params. Source: docs/protocols/mcp.md, sections 2.3, 3.1, 7.1.
namespace crab::mcp {

inline constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kClientInfoKey = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kLogLevelKey = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";

/// What `_meta` of a request's params says, and the bytes of the members beside it that most
/// requests are asked for, so that the params are read once; members that are absent, or of another
/// type, are empty. JSON members are the bytes that came, views into the params.
struct RequestMeta {
    bool names_version = false;  ///< has the key, whatever its value: the request is modern
    std::optional<std::string> version;
    std::string_view capabilities;  ///< an object
    std::string_view client_info;  ///< an object
    std::string log_level;
    std::optional<RequestId> progress_token;
    std::string traceparent, tracestate, baggage;
    std::string idempotency_key;  ///< ext `crab/idempotencyKey`, 1 to 256 characters
    std::optional<std::int64_t> timeout_ms;  ///< ext `crab/timeoutMs`, at least 1
    /// What is wrong with those two: a call that was meant to run once, or for so long, is not run
    /// otherwise. Empty: nothing.
    std::string_view wrong;
    struct Beside {
        std::string_view name{}, arguments{}, request_state{}, input_responses{};
    };
    Beside beside{};  ///< of whatever type
};

/// `params`: an object that a parser has accepted, or empty.
RequestMeta read_request_meta(std::string_view params);
/// The same while the parser has not gone on; `params` is at its end then, `meta` was empty.
void read_request_meta(json::TokenParts& params, RequestMeta& meta);

/// Where a request came in decides whether its headers are looked at.
enum class Carrier : std::uint8_t { kHttp, kStdio };

/// The checks of a modern request up to its capabilities, in their order: the version's header
/// (over HTTP) is there and equals `_meta` byte for byte, the version is an enabled modern one, the
/// capabilities are an object. Errors: what to answer; the HTTP status is 400 for each of them.
std::expected<Revision, RpcError> check_modern_request(
    const RequestMeta& meta, Carrier carrier, std::optional<std::string_view> version_header,
    const RevisionSet& enabled);

}  // namespace crab::mcp
