#include "adapters/rtp/hosts/host_wire.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "core/call/tool_schemas.hpp"
#include "json/duplicates.hpp"
#include "json/element.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
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
constexpr std::size_t kMostLogLines = 1024;

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

/// At most `most` bytes of `text`, whole characters of UTF-8.
std::string_view up_to(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
    return text.substr(0, most);
}

/// The plain code behind a code of the wire; several have one form there.
ErrorCode code_of(std::string_view text) {
    if (text == wire_code(ErrorCode::kInternal)) return ErrorCode::kInternal;
    for (const ErrorCode code : all_error_codes()) {
        if (wire_code(code) == text) return code;
    }
    return ErrorCode::kInternal;
}

bool has_only(simdjson::dom::object object, std::initializer_list<const char*> names) {
    return std::ranges::all_of(object, [&](const auto& member) {
        return std::ranges::find(names, std::string_view(member.key)) != names.end();
    });
}

/// The members of an answer, once they are known to have the schema's form.
struct Parts {
    std::string_view call_id, tool, status;
    std::optional<Element> error;
    std::vector<std::string> logs;
};

/// What is wrong with the form, or nothing.
std::string_view read_parts(Element root, Parts& parts) {
    simdjson::dom::object object, error;
    if (root.get(object) != simdjson::SUCCESS) return "it is not a JSON object";
    static constexpr auto kMembers = {"version",     "call_id", "tool_name", "status",
                                      "duration_ms", "result",  "error",     "logs"};
    if (!has_only(object, kMembers)) return "it has a member that the schema does not know";
    if (json::find_duplicate(root)) return "a member occurs twice";
    if (json::get_string(root, "version") != "v1") return "version is not v1";
    const auto id = json::get_string(root, "call_id");
    const auto tool = json::get_string(root, "tool_name");
    const auto status = json::get_string(root, "status");
    const auto duration = json::get_int64(root, "duration_ms");
    if (!id) return "call_id is not a string";
    if (!tool) return "tool_name is not a string";
    if (!status) return "status is not a string";
    if (!duration || *duration < 0) return "duration_ms is not an integer from 0";
    constexpr std::array<std::string_view, 4> kStatuses{"ok", "error", "retryable_error",
                                                        "timeout"};
    if (std::ranges::find(kStatuses, *status) == kStatuses.end())
        return "status is none of ok, error, retryable_error, timeout";
    if (const auto result = json::get(root, "result"); result && !result->is_object())
        return "result is not an object";
    if (const auto logs = json::get(root, "logs")) {
        simdjson::dom::array lines;
        if (logs->get(lines) != simdjson::SUCCESS) return "logs is not an array";
        for (const Element line : lines) {
            std::string_view text;
            if (line.get(text) != simdjson::SUCCESS) return "logs holds what is not a string";
            if (parts.logs.size() < kMostLogLines) parts.logs.emplace_back(text);
        }
    }
    parts.error = json::get(root, "error");
    if (parts.error) {
        if (parts.error->get(error) != simdjson::SUCCESS) return "error is not an object";
        if (!has_only(error, {"code", "message", "details", "retryable"}))
            return "error has a member that the schema does not know";
        const auto wrong = [&](std::string_view name, auto fits) {
            const auto member = json::get(*parts.error, name);
            return member && !fits(*member);
        };
        if (wrong("code", [](Element e) { return e.is_string(); }))
            return "error.code is not a string";
        if (wrong("message", [](Element e) { return e.is_string(); }))
            return "error.message is not a string";
        if (wrong("details", [](Element e) { return e.is_object(); }))
            return "error.details is not an object";
        if (wrong("retryable", [](Element e) { return e.is_bool(); }))
            return "error.retryable is not a boolean";
    }
    parts.call_id = *id;
    parts.tool = *tool;
    parts.status = *status;
    return {};
}

Error failure_of(const Parts& parts, const CallReply& reply) {
    Error error{.code = ErrorCode::kInternal,
                .message = {},
                .details = {},
                .retryable = false,
                .retry_after = reply.retry_after};
    if (parts.error) {
        if (const auto code = json::get_string(*parts.error, "code")) error.code = code_of(*code);
        error.message = up_to(json::get_string(*parts.error, "message").value_or(""), kMaxMessage);
        if (const auto details = json::get(*parts.error, "details")) {
            error.details = json::to_text(*details);
            if (const auto after = json::get_int64(*details, "retry_after_ms");
                after && *after >= 0)
                error.retry_after = Milliseconds(std::min<std::int64_t>(*after, kMaxTimeoutMs));
        }
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
    const core::CallContext& context = call.context;
    json::Writer writer(out);
    const auto optional = [&](std::string_view name, std::string_view text) {
        if (!text.empty()) writer.key(name).string(text);
    };
    writer.begin_object()
        .key("version")
        .string("v1")
        .key("call_id")
        .string(call.id)
        .key("tool_name")
        .string(admitted.tool().spec.name);
    writer.key("tenant_id")
        .string(tenant_on_wire(call))
        .key("args")
        .raw(admitted.args())
        .key("timeout_ms")
        .integer(timeout_ms);
    optional("idempotency_key", !call.idempotency_key.empty() || !admitted.tool().spec.side_effects
                                    ? call.idempotency_key
                                    : call.id);
    writer.key("context").begin_object();
    writer.key("agent_id")
        .string(context.agent_id.empty() ? std::string_view(admitted.principal()->id)
                                         : context.agent_id);
    writer.key("session_id").string(context.session_id.empty() ? call.id : context.session_id);
    optional("platform", context.platform);
    optional("channel_id", context.channel_id);
    optional("actor_id", context.actor_id);
    optional("isolation_key", context.isolation_key);
    optional("trace_id", context.trace_id);
    optional("request_origin", context.request_origin);
    writer.end_object().end_object();
}

void append_cancel_request(std::string& out, std::string_view tenant, std::string_view call_id,
                           CancelReason reason) {
    json::Writer writer(out);
    writer.begin_object()
        .key("version")
        .string("v1")
        .key("tenant_id")
        .string(tenant)
        .key("call_id")
        .string(call_id);
    writer.key("reason")
        .string(reason == CancelReason::kTimeout ? "timeout" : "cancelled")
        .end_object();
}

core::Outcome read_call_reply(const CallReply& reply, json::Parser& parser,
                              std::string_view call_id, std::string_view tool) {
    const bool succeeded = reply.http_status >= 200 && reply.http_status < 300;
    if (reply.http_status >= 300 && reply.http_status < 400) return refused_by_http(reply);
    auto root = parser.parse(reply.body);
    if (!root) return succeeded ? broken("it is not JSON") : refused_by_http(reply);
    Parts parts;
    if (const std::string_view wrong = read_parts(root->element(), parts); !wrong.empty())
        return succeeded ? broken(wrong) : refused_by_http(reply);
    // A refusal may come before the host has read whose call it is (section 3, rows 1 to 5).
    const bool unnamed = !succeeded && parts.call_id.empty() && parts.tool.empty();
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

Result<core::ToolList> read_discovery(std::string_view body, json::Parser& parser) {
    auto root = parser.parse(body);
    if (!root)
        return fail(ErrorCode::kInternal,
                    fmt::format("the list of tools is not JSON: {}", root.error().message));
    if (json::get_string(root->element(), "version") != "v1")
        return fail(ErrorCode::kInternal, "the list of tools has no version v1");
    const auto tools = json::get_array(root->element(), "tools");
    if (!tools) return fail(ErrorCode::kInternal, "the list of tools has no array tools");
    core::ToolList found;
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
                {.name = std::string(up_to(json::get_string(element, "name").value_or(""), 128)),
                 .reason = std::move(tool.error().message)});
        }
    }
    return found;
}

}  // namespace crab::rtp
