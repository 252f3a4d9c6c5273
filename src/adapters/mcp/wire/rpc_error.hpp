#pragma once

#include <cstdint>
#include <string>

namespace crab::mcp {

/// JSON-RPC's codes and MCP's own. Source: docs/protocols/mcp.md, section 3.4.
namespace rpc_code {
inline constexpr std::int64_t kParseError = -32700;
inline constexpr std::int64_t kInvalidRequest = -32600;
inline constexpr std::int64_t kMethodNotFound = -32601;
inline constexpr std::int64_t kInvalidParams = -32602;
inline constexpr std::int64_t kInternalError = -32603;
inline constexpr std::int64_t kResourceNotFound = -32002;  ///< legacy
inline constexpr std::int64_t kHeaderMismatch = -32020;
inline constexpr std::int64_t kMissingClientCapability = -32021;
inline constexpr std::int64_t kUnsupportedVersion = -32022;
inline constexpr std::int64_t kUrlElicitationRequired = -32042;  ///< 2025-11-25
}  // namespace rpc_code

/// The error of a JSON-RPC response.
struct RpcError {
    std::int64_t code = rpc_code::kInternalError;
    std::string message;
    std::string data;  ///< JSON, or empty

    friend bool operator==(const RpcError&, const RpcError&) = default;
};

/// The HTTP status with which a modern answer carries an error of this code: 400 for what is wrong
/// with the message itself, 404 for an unknown method, else 200. A missing `_meta` field is -32602
/// with 400, which only the place that misses it knows.
constexpr int http_status_of(std::int64_t code) {
    switch (code) {
        case rpc_code::kParseError:
        case rpc_code::kInvalidRequest:
        case rpc_code::kHeaderMismatch:
        case rpc_code::kMissingClientCapability:
        case rpc_code::kUnsupportedVersion: return 400;
        case rpc_code::kMethodNotFound: return 404;
        default: return 200;
    }
}

}  // namespace crab::mcp
