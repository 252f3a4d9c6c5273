#include "sdk/call_wire.hpp"

#include "base/encoding.hpp"
#include "base/error_code.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::sdk {
namespace {

using std::chrono::milliseconds;

std::string text_of(const json::Value& object, std::string_view name) {
    const json::Value* value = object.find(name);
    const std::string* text = value != nullptr ? value->as_string() : nullptr;
    return text != nullptr ? *text : std::string();
}
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

ErrorCode code_of_status(int status) {
    switch (status) {
        case 400: return ErrorCode::kInvalidArgs;
        case 401: return ErrorCode::kUnauthenticated;
        case 403: return ErrorCode::kForbidden;
        case 404: return ErrorCode::kNotFound;
        case 408:
        case 504: return ErrorCode::kTimeout;
        case 413: return ErrorCode::kOversize;
        case 429: return ErrorCode::kRateLimited;
        case 502:
        case 503: return ErrorCode::kUnavailable;
        default: return ErrorCode::kInternal;
    }
}

void append_context(json::Writer& writer, const CallContext& context) {
    const auto member = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) writer.key(name).string_lossy(value);
    };
    writer.key("context").begin_object();
    member("agent_id", context.agent_id);
    member("session_id", context.session_id);
    member("platform", context.platform);
    member("channel_id", context.channel_id);
    member("actor_id", context.actor_id);
    member("isolation_key", context.isolation_key);
    member("trace_id", context.trace_id);
    member("request_origin", context.request_origin);
    writer.end_object();
}

}  // namespace

std::optional<std::string> call_request(std::string_view tool, std::string_view args,
                                        std::string_view call_id, const CallOptions& options) {
    json::Parser parser({.max_bytes = args.size()});
    const auto parsed = parser.parse(args);
    if (!parsed || !parsed->element().is_object()) return std::nullopt;
    std::string body;
    json::Writer writer(body);
    writer.begin_object()
        .key("version")
        .string("v1")
        .key("call_id")
        .string_lossy(call_id)
        .key("tool_name")
        .string_lossy(tool);
    writer.key("tenant_id").string_lossy(options.tenant_id).key("args").raw(args);
    if (options.timeout.count() > 0) writer.key("timeout_ms").integer(options.timeout.count());
    if (!options.idempotency_key.empty())
        writer.key("idempotency_key").string_lossy(options.idempotency_key);
    append_context(writer, options.context);
    writer.end_object();
    return body;
}

std::string cancel_request(std::string_view call_id, std::string_view tenant_id) {
    std::string body;
    json::Writer(body)
        .begin_object()
        .key("version")
        .string("v1")
        .key("tenant_id")
        .string_lossy(tenant_id)
        .key("call_id")
        .string_lossy(call_id)
        .key("reason")
        .string("cancelled")
        .end_object();
    return body;
}

CallResult read_call_response(const json::Value& body, std::string_view call_id) {
    CallResult result{.call_id = std::string(call_id)};
    const auto status = find_status(text_of(body, "status"));
    // What could not be read of a request is "" in its answer.
    const std::string answered = text_of(body, "call_id");
    if (!status || (answered != call_id && !answered.empty())) {
        result.error = {.code = "INTERNAL",
                        .message = "the gateway's answer does not belong to this call"};
        return result;
    }
    result.status = *status;
    result.duration = milliseconds(integer_of(body, "duration_ms"));
    if (const json::Value* logs = body.find("logs"); logs != nullptr && logs->is_array()) {
        for (const json::Value& line : *logs->as_array()) {
            if (const std::string* text = line.as_string()) result.logs.push_back(*text);
        }
    }
    if (result.ok()) {
        result.result = json_of(body, "result");
        if (result.result.empty()) result.result = "{}";
        return result;
    }
    const json::Value none;
    const json::Value* error = body.find("error");
    if (error == nullptr) error = &none;
    result.error = {.code = text_of(*error, "code"),
                    .message = text_of(*error, "message"),
                    .details = json_of(*error, "details"),
                    .retryable = flag_of(*error, "retryable",
                                         result.status == CallResult::Status::kRetryableError)};
    if (result.error.code.empty()) result.error.code = "INTERNAL";
    return result;
}

ToolError read_refusal(int status, std::string_view body) {
    const ErrorCode code = code_of_status(status);
    ToolError error{.code = std::string(token_of(code)),
                    .message = fmt::format("the gateway answered with HTTP status {}", status),
                    .retryable = is_retryable(code)};
    if (const auto parsed = json::Value::parse(body)) {
        const std::string said_code = text_of(*parsed, "code");
        const std::string said = text_of(*parsed, "error");
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
        ToolInfo tool{.name = text_of(item, "name"),
                      .description = text_of(item, "description"),
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
    const std::string status = parsed ? text_of(*parsed, "status") : std::string();
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
                    .content_type = text_of(*parsed, "content_type"),
                    .data = text_of(*parsed, "data"),
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
