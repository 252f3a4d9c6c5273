#pragma once

#include "adapters/mcp/wire/request_id.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "adapters/mcp/wire/rpc_error.hpp"

#include <string>
#include <string_view>

/// JSON-RPC messages as bytes. What is given as JSON is spliced in as it is; where a line is a
/// message (stdio, server-sent events) append_line() and event_stream.hpp take line ends out.
/// Source: docs/protocols/mcp.md, section 2.1.
namespace crab::mcp {

/// `params`: an object; empty leaves it out.
void append_request(std::string& out, const RequestId& id, std::string_view method,
                    std::string_view params);
void append_notification(std::string& out, std::string_view method, std::string_view params);
/// `result`: an object.
void append_result(std::string& out, const RequestId& id, std::string_view result);
/// What append_result() writes before the result; behind it follow the result and a brace.
void append_opening(std::string& out, const RequestId& id);
/// Makes a result, an object, the response that append_result() writes.
void make_response(std::string& result, const RequestId& id);
/// `id` null: it could not be read, which legacy says with `null` and modern by leaving it out.
void append_error(std::string& out, const RequestId* id, Era era, const RpcError& error);

/// A message as a line of stdio, with the LF behind it.
void append_line(std::string& out, std::string_view message);

}  // namespace crab::mcp
