#include "adapters/rtp/hosts/host_wire.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/wire/call_reply.hpp"
#include "base/cut_text.hpp"
#include "core/call/tool_schemas.hpp"
#include "json/element.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using json::Element;

constexpr std::int64_t kMaxTimeoutMs = 120'000;
constexpr std::size_t kMostTools = 1024;
constexpr std::size_t kMostDropped = 64;
constexpr std::size_t kMaxDescription = 8 * 1024;
constexpr std::size_t kMaxMessage = 4 * 1024;

core::Outcome broken(std::string_view rule) {
    return fail(
        Error{.code = ErrorCode::kInternal,
              .message = fmt::format(
                  "the host's answer breaks a rule: {}; the call may have taken effect", rule),
              .details = {},
              .retryable = false,
              .retry_after = {}});
}

/// What HTTP alone says, when there is no answer in the response schema.
core::Outcome refused_by_http(const CallReply& reply) {
    const int status = reply.http_status;
    Error error{.code = ErrorCode::kUnavailable,
                .message = fmt::format("the host answered with HTTP {} and no result", status),
                .details = {},
                .retryable = false,
                .retry_after = reply.retry_after};
    if (status == 401 || status == 403) {
        error.code = ErrorCode::kForbidden;
        error.message = fmt::format("the host refuses this gateway (HTTP {})", status);
    } else if (status == 429 || status == 503) {
        error.retryable = true;
    } else if (status >= 300 && status < 400) {
        error.message = fmt::format(
            "the host answered with a redirect (HTTP {}), which is not followed", status);
    } else if (status < 500 && status != 404) {
        error.code = ErrorCode::kInternal;
    }
    return fail(std::move(error));
}

/// The plain code behind a code of the wire; several have one form there.
ErrorCode code_of(std::string_view text) {
    if (text == wire_code(ErrorCode::kInternal)) return ErrorCode::kInternal;
    for (const ErrorCode code : all_error_codes()) {
        if (wire_code(code) == text) return code;
    }
    return ErrorCode::kInternal;
}

Error failure_of(const ReplyParts& parts, const CallReply& reply) {
    Error error{.code = ErrorCode::kInternal,
                .message = {},
                .details = {},
                .retryable = false,
                .retry_after = reply.retry_after};
    if (!parts.code.empty()) error.code = code_of(parts.code);
    error.message = cut_text(parts.message, kMaxMessage);
    if (parts.details) {
        error.details = json::to_text(*parts.details);
        if (const auto after = json::get_int64(*parts.details, "retry_after_ms");
            after && *after >= 0)
            error.retry_after = Milliseconds(std::min<std::int64_t>(*after, kMaxTimeoutMs));
    }
    if (error.message.empty()) error.message = "the host gave no reason";
    if (parts.status == "retryable_error") error.retryable = true;
    if (parts.status == "timeout") error.code = ErrorCode::kTimeout;
    return error;
}

std::optional<bool> claim(Element annotations, std::string_view name) {
    return json::get_bool(annotations, name);
}

Result<std::shared_ptr<core::Tool>> read_tool(Element element, core::SchemaBudget& budget) {
    const auto name = json::get_string(element, "name");
    const auto description = json::get_string(element, "description");
    const auto input = json::get(element, "input_schema");
    const auto output = json::get(element, "output_schema");
    if (!name || !core::is_tool_name(*name))
        return fail(ErrorCode::kInvalidArgs, "a name is 1 to 128 of A-Z a-z 0-9 _ . -");
    if (!description) return fail(ErrorCode::kInvalidArgs, "description is not a string");
    if (description->size() > kMaxDescription)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("the description has more than {} bytes", kMaxDescription));
    if (!input || !input->is_object())
        return fail(ErrorCode::kInvalidArgs, "input_schema is not an object");
    if (output && !output->is_object())
        return fail(ErrorCode::kInvalidArgs, "output_schema is not an object");
    const auto number = [&](std::string_view member, std::int64_t otherwise) {
        return std::clamp<std::int64_t>(json::get_int64(element, member).value_or(otherwise), 1,
                                        kMaxTimeoutMs);
    };
    core::ToolSpec spec;
    spec.name = *name;
    spec.description = *description;
    spec.title = json::get_string(element, "title").value_or("");
    spec.input_schema = json::to_text(*input);
    if (output) spec.output_schema = json::to_text(*output);
    spec.max_timeout = Milliseconds(number("timeout_ms_max", kMaxTimeoutMs));
    spec.default_timeout =
        std::min(spec.max_timeout, Milliseconds(number("timeout_ms_default", 30'000)));
    spec.side_effects = json::get_bool(element, "side_effects").value_or(true);
    spec.idempotent = json::get_bool(element, "idempotent").value_or(false) || !spec.side_effects;
    // the operator configured or paired this host; unlike a device's, its word counts
    spec.effects_known = true;
    spec.accepts_idempotency_key =
        json::get_bool(element, "accepts_idempotency_key").value_or(false);
    if (const auto most = json::get_int64(element, "max_concurrency");
        most && *most >= 1 && *most <= 1'000'000)
        spec.max_concurrency = static_cast<std::uint32_t>(*most);
    if (const auto claims = json::get(element, "annotations"); claims && claims->is_object()) {
        spec.annotations.read_only = claim(*claims, "read_only");
        spec.annotations.destructive = claim(*claims, "destructive");
        spec.annotations.open_world = claim(*claims, "open_world");
    }
    return core::make_tool(std::move(spec), budget);
}

}  // namespace

std::int64_t timeout_for_host(std::chrono::nanoseconds left) {
    const std::int64_t ms = std::chrono::floor<Milliseconds>(left).count();
    return std::clamp<std::int64_t>(ms - std::min<std::int64_t>(ms / 10, 200), 1, kMaxTimeoutMs);
}

std::string_view tenant_on_wire(const core::Call& call) {
    return call.tenant.empty() ? std::string_view("default") : call.tenant;
}

void append_call_request(std::string& out, const core::AdmittedCall& admitted,
                         std::int64_t timeout_ms) {
    const core::Call& call = admitted.call();
    const core::ToolSpec& spec = admitted.tool().spec;
    CallRequest request{.call_id = call.id,
                        .tool = spec.name,
                        .tenant = tenant_on_wire(call),
                        .args = admitted.args(),
                        .timeout_ms = timeout_ms,
                        .idempotency_key = call.idempotency_key,
                        .context = call.context};
    if (call.idempotency_key.empty() && spec.side_effects) request.idempotency_key = call.id;
    if (request.context.agent_id.empty()) request.context.agent_id = admitted.principal()->id;
    if (request.context.session_id.empty()) request.context.session_id = call.id;
    append_call_request(out, request);
}

core::Outcome read_call_reply(const CallReply& reply, json::Parser& parser,
                              std::string_view call_id, std::string_view tool) {
    const bool succeeded = reply.http_status >= 200 && reply.http_status < 300;
    if (reply.http_status >= 300 && reply.http_status < 400) return refused_by_http(reply);
    auto root = parser.parse(reply.body);
    if (!root) return succeeded ? broken("it is not JSON") : refused_by_http(reply);
    ReplyParts parts = read_reply(root->element());
    if (!parts.broken_rule.empty())
        return succeeded ? broken(parts.broken_rule) : refused_by_http(reply);
    // A refusal may come before the host has read whose call it is (section 3, rows 1 to 5).
    const bool unnamed = !succeeded && parts.call_id->empty() && parts.tool->empty();
    if (!unnamed && parts.call_id != call_id) return broken("call_id is not that of the request");
    if (!unnamed && parts.tool != tool) return broken("tool_name is not that of the request");
    if (parts.status != "ok") return fail(failure_of(parts, reply));
    if (!succeeded) return broken("status is ok although HTTP says otherwise");
    core::ToolResult result;
    result.kind = core::ContentKind::kJson;
    result.content = root->raw_member("result").value_or("{}");
    result.logs = std::move(parts.logs);
    return result;
}

Result<Discovery> read_discovery(std::string_view body, json::Parser& parser) {
    auto root = parser.parse(body);
    if (!root)
        return fail(ErrorCode::kInternal,
                    fmt::format("the list of tools is not JSON: {}", root.error().message));
    if (json::get_string(root->element(), "version") != "v1")
        return fail(ErrorCode::kInternal, "the list of tools has no version v1");
    const auto tools = json::get_array(root->element(), "tools");
    if (!tools) return fail(ErrorCode::kInternal, "the list of tools has no array tools");
    Discovery found;
    found.keeps_callers_apart =
        json::get_bool(root->element(), "keeps_callers_apart").value_or(false);
    core::SchemaBudget budget;
    std::unordered_set<std::string> names;
    for (const Element element : *tools) {
        auto tool = found.tools.size() < kMostTools
                        ? read_tool(element, budget)
                        : fail(ErrorCode::kRateLimited,
                               fmt::format("a host has at most {} tools", kMostTools));
        if (tool && !names.insert((*tool)->spec.name).second)
            tool = fail(ErrorCode::kConflict, "another tool of this host has the name");
        if (tool) {
            found.tools.push_back(std::move(*tool));
        } else if (found.dropped.size() < kMostDropped) {
            found.dropped.push_back(
                {.name = std::string(cut_text(json::get_string(element, "name").value_or(""), 128)),
                 .reason = std::move(tool.error().message)});
        }
    }
    return found;
}

}  // namespace crab::rtp
