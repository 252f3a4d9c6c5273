#pragma once

#include "adapters/mcp/wire/result.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"
#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// How the gateway's errors look to an MCP client. Source: docs/protocols/mcp.md,
/// sections 3.4, 7.2.
namespace crab::mcp {

enum class ErrorShape : std::uint8_t {
    kRpcError,    ///< a JSON-RPC error, -32602
    kHttpStatus,  ///< no answer of MCP at all: the status, with a JSON-RPC error as its body
    kToolResult,  ///< a result with `isError`, which the model reads
};
struct ErrorForm {
    ErrorShape shape = ErrorShape::kToolResult;
    int http_status = 200;
};

/// What becomes of an outcome of `tools/call`.
ErrorForm form_of(ErrorCode code);

/// The JSON-RPC error of `error`, whatever its form: `data` has its token, and the URI if it is
/// about a resource.
RpcError rpc_error(const Error& error, std::int64_t code = rpc_code::kInvalidParams,
                   std::string_view uri = {});
/// The same error with a token in `data` if that is empty; for the gateway's own ones, not for
/// those that an upstream has made.
RpcError with_token(RpcError error);
/// -32602 or, for legacy clients, -32002.
RpcError resource_not_found(std::string_view uri, std::string message, Revision revision);

/// Appends the result object of a call that failed: a text of the message and what to do next,
/// `isError`, and `crab/error` in `_meta`. A kToolFailed whose `details` are an upstream's result
/// keeps the upstream's content. Members of `form.meta` stay.
void append_error_result(std::string& out, const Error& error, const ResultForm& form);

}  // namespace crab::mcp
