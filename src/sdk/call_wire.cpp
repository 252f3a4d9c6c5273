#include "sdk/call_wire.hpp"

#include "adapters/rtp/wire/call_reply.hpp"
#include "adapters/rtp/wire/call_request.hpp"
#include "base/encoding.hpp"
#include "base/error_code.hpp"
#include "json/element.hpp"
#include "json/parser.hpp"
#include "net/http/status_code.hpp"

#include <fmt/format.h>

namespace crab::sdk {
namespace {

using std::chrono::milliseconds;

std::int64_t integer_of(const json::Value& object, std::string_view name) {
    const json::Value* value = object.find(name);
    return value != nullptr ? value->as_int64().value_or(0) : 0;
}
bool flag_of(const json::Value& object, std::string_view name, bool otherwise) {
    const json::Value* value = object.find(name);
    const bool* flag = value != nullptr ? value->as_bool() : nullptr;
    return flag != nullptr ? *flag : otherwise;
}
std::string json_of(const json::Value& object, std::string_view name) {
    const json::Value* value = object.find(name);
    return value != nullptr ? value->dump() : std::string();
}

std::optional<CallResult::Status> find_status(std::string_view word) {
    if (word == "ok") return CallResult::Status::kOk;
    if (word == "error") return CallResult::Status::kError;
    if (word == "retryable_error") return CallResult::Status::kRetryableError;
    if (word == "timeout") return CallResult::Status::kTimeout;
    return std::nullopt;
}

core::CallContext context_of(const CallContext& given) {
    return {.agent_id = given.agent_id,
            .session_id = given.session_id,
            .platform = given.platform,
            .channel_id = given.channel_id,
            .actor_id = given.actor_id,
            .isolation_key = given.isolation_key,
            .trace_id = given.trace_id,
            .request_origin = given.request_origin};
}

ToolError error_of(const rtp::ReplyParts& parts, CallResult::Status status) {
    return {.code = parts.code.empty() ? "INTERNAL" : std::string(parts.code),
            .message = std::string(parts.message),
            .details = parts.details ? json::to_text(*parts.details) : std::string(),
            .retryable = parts.retryable.value_or(status == CallResult::Status::kRetryableError)};
}

}  // namespace

std::optional<std::string> call_request(std::string_view tool, std::string_view args,
                                        std::string_view call_id, const CallOptions& options) {
    json::Parser parser({.max_bytes = args.size()});
    const auto parsed = parser.parse(args);
    if (!parsed || !parsed->element().is_object()) return std::nullopt;
    rtp::CallRequest request{.call_id = call_id,
                             .tool = tool,
                             .tenant = options.tenant_id,
                             .args = args,
                             .timeout_ms = {},
                             .idempotency_key = options.idempotency_key,
                             .context = context_of(options.context)};
    if (options.timeout.count() > 0) request.timeout_ms = options.timeout.count();
    std::string body;
    rtp::append_call_request(body, request);
    return body;
}

std::string cancel_request(std::string_view call_id, std::string_view tenant_id) {
    std::string body;
    rtp::append_cancel_request(body, tenant_id, call_id, rtp::CancelReason::kCancelled);
    return body;
}

std::optional<CallResult> read_call_response(std::string_view body, std::string_view call_id) {
    json::Parser parser({.max_bytes = body.size()});
    const auto root = parser.parse(body);
    if (!root || !json::get(root->element(), "status")) return std::nullopt;
    rtp::ReplyParts parts = rtp::read_reply(root->element());
    CallResult result{.call_id = std::string(call_id)};
    const auto status = find_status(parts.status.value_or(""));
    // What could not be read of a request is "" in its answer.
    const std::string_view answered = parts.call_id.value_or("");
    if (!status || (answered != call_id && !answered.empty())) {
        result.error = {.code = "INTERNAL",
                        .message = "the gateway's answer does not belong to this call"};
        return result;
    }
    result.status = *status;
    result.duration = milliseconds(parts.duration_ms.value_or(0));
    result.logs = std::move(parts.logs);
    if (result.ok())
        result.result = parts.result ? json::to_text(*parts.result) : "{}";
    else
        result.error = error_of(parts, *status);
    return result;
}

ToolError read_refusal(int status, std::string_view body) {
    const ErrorCode code = net::code_of_status(status).value_or(ErrorCode::kInternal);
    ToolError error{.code = std::string(token_of(code)),
                    .message = fmt::format("the gateway answered with HTTP status {}", status),
                    .retryable = is_retryable(code)};
    if (const auto parsed = json::Value::parse(body)) {
        const std::string said_code = parsed->text("code");
        const std::string said = parsed->text("error");
        if (!said_code.empty()) error.code = said_code;
        if (!said.empty()) error.message = said;
    }
    return error;
}

std::expected<std::vector<ToolInfo>, ToolError> read_tools(std::string_view body) {
    const auto parsed = json::Value::parse(body);
    const json::Value* list = parsed ? parsed->find("tools") : nullptr;
    if (list == nullptr || !list->is_array()) {
        return std::unexpected(
            ToolError{.code = "INTERNAL", .message = "the gateway's list of tools cannot be read"});
    }
    std::vector<ToolInfo> tools;
    for (const json::Value& item : *list->as_array()) {
        ToolInfo tool{.name = item.text("name"),
                      .description = item.text("description"),
                      .input_schema = json_of(item, "input_schema"),
                      .output_schema = json_of(item, "output_schema"),
                      .timeout = milliseconds(integer_of(item, "timeout_ms_default")),
                      .max_timeout = milliseconds(integer_of(item, "timeout_ms_max")),
                      .idempotent = flag_of(item, "idempotent", false),
                      .side_effects = flag_of(item, "side_effects", true)};
        if (!tool.name.empty()) tools.push_back(std::move(tool));
    }
    return tools;
}

std::optional<CancelStatus> read_cancel_status(std::string_view body) {
    const auto parsed = json::Value::parse(body);
    const std::string status = parsed ? parsed->text("status") : std::string();
    if (status == "cancelling") return CancelStatus::kCancelling;
    if (status == "finished") return CancelStatus::kFinished;
    if (status == "not_found") return CancelStatus::kNotFound;
    return std::nullopt;
}

std::optional<ToolFrame> read_frame(std::string_view data) {
    const auto parsed = json::Value::parse(data);
    if (!parsed || !parsed->is_object()) return std::nullopt;
    ToolFrame frame{.number = static_cast<std::uint64_t>(integer_of(*parsed, "frame_no")),
                    .final = flag_of(*parsed, "final", false),
                    .content_type = parsed->text("content_type"),
                    .data = parsed->text("data"),
                    .summary = json_of(*parsed, "summary")};
    if (const json::Value* encoded = parsed->find("data_base64");
        encoded != nullptr && encoded->as_string() != nullptr) {
        auto bytes = from_base64(*encoded->as_string());
        if (!bytes) return std::nullopt;
        frame.data = *std::move(bytes);
    }
    return frame;
}

}  // namespace crab::sdk
