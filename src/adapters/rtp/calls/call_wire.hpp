#pragma once

#include "base/result.hpp"
#include "core/call/call.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

#include <string>
#include <string_view>

namespace crab::rtp {

/// Why a call request was refused before the pipeline saw it (docs/protocols/rtp.md, section 3,
/// rows 5 and 6).
struct CallRefusal {
    int http_status = 400;   ///< 400 for a malformed request, 200 for invalid values
    std::string message;
};

/// Reads a call request strictly into `call`. Texts are unescaped into `texts`, which is reserved
/// once and must outlive the call; `call.args` views `body`. `call.id` and `call.tool` are set even
/// on failure if they could be read.
std::expected<void, CallRefusal> parse_call_request(std::string_view body, json::Parser& parser,
                                                    std::string& texts, core::Call& call);

/// Names whom a gateway calls for, to hosts whose list says `keeps_callers_apart`: what this is of
/// one caller meets no call, key or cancel of another.
inline constexpr std::string_view kPrincipalHeader = "crab-principal";

/// What stands for a principal in `Crab-Principal`: 32 hexadecimal digits of its SHA-256, since
/// names are in any script, and a host need not know them.
std::string principal_on_wire(std::string_view id);

/// The protocol's code for an error, and its status word.
std::string_view wire_code(ErrorCode code);
std::string_view wire_status(const core::Outcome& outcome);

/// Appends a response object: `result` exactly when the status is `ok`. Text becomes {"text"}, an
/// object itself, any other JSON value {"value"}, bytes {"content_type","data_base64"}. `called`,
/// null if the name did not resolve, determines whether a retry after a timeout is safe.
void append_call_response(std::string& out, std::string_view call_id, std::string_view tool,
                          std::int64_t duration_ms, const core::Outcome& outcome,
                          const core::Tool* called = nullptr);

/// The value of `result`, and of `error`.
void append_result(std::string& out, const core::ToolResult& result);
void append_error(json::Writer& writer, const Error& error, bool retryable);

/// A cancel request (section 3, "Cancel"). Views point into `texts`.
struct CancelRequest {
    std::string_view tenant_id, call_id, reason;
};
std::expected<CancelRequest, std::string> parse_cancel_request(std::string_view body,
                                                               json::Parser& parser,
                                                               std::string& texts);

/// One element of the discovery document's `tools`, under the name by which the caller can call it.
void append_discovered_tool(std::string& out, std::string_view name, const core::Tool& tool);

}  // namespace crab::rtp
