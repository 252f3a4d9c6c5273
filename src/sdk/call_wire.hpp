#pragma once

#include "json/value.hpp"

#include "crab/tool_client.hpp"

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Requests and answers of docs/protocols/rtp.md, sections 2 and 3, as a caller writes and reads
/// them.
namespace crab::sdk {

/// `args` is one JSON object. Nothing for invalid args.
std::optional<std::string> call_request(std::string_view tool, std::string_view args,
                                        std::string_view call_id, const CallOptions& options);
std::string cancel_request(std::string_view call_id, std::string_view tenant_id);

/// The answer to a call; nothing for a body that is not one, kNoAnswer with INTERNAL for the answer
/// to another call. Unknown members are ignored.
std::optional<CallResult> read_call_response(std::string_view body, std::string_view call_id);
/// The answer to anything that is not as expected: `{"error","code"}` or a bare status.
ToolError read_refusal(int status, std::string_view body);
std::expected<std::vector<ToolInfo>, ToolError> read_tools(std::string_view body);
std::optional<CancelStatus> read_cancel_status(std::string_view body);
/// Nothing for what is not a frame.
std::optional<ToolFrame> read_frame(std::string_view data);

}  // namespace crab::sdk
