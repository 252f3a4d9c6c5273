#include "adapters/mcp/upstreams/tool_hosts.hpp"

#include "adapters/mcp/upstreams/call_relay.hpp"
#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/catalogs.hpp"
#include "core/call/host_idempotency_key.hpp"
#include "core/call/long_call.hpp"
#include "core/call/tool_schemas.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

/// What the request of any call has.
UpstreamCall call_of(const core::AdmittedCall& admitted) {
    const core::Call& call = admitted.call();
    UpstreamCall made;
    made.principal = admitted.principal()->id;
    if (call.inquirer != nullptr) made.answers = call.inquirer->answers();
    UpstreamRequest& request = made.request;
    const core::ToolSpec& spec = admitted.tool().spec;
    request.may_repeat = spec.idempotent || spec.effects() == core::Effects::kNone;
    request.deadline = admitted.deadline();
    request.traceparent = call.traceparent;
    request.input_responses = call.input_responses;
    request.request_state = call.request_state;
    return made;
}

/// Sends it; the record of the call names where it went, whatever became of it there.
Task<Result<CallReply>> pass_on(UpstreamCalls& calls, UpstreamCall call, std::string tool,
                                const core::AdmittedCall& admitted, core::FrameSink& sink) {
    std::optional<Revision> spoken;
    call.spoken = &spoken;
    auto reply = co_await relay_call(calls, std::move(call), sink, admitted.call().inquirer);
    core::CallUpstream upstream{.tool = std::move(tool), .revision = {}, .era = {}};
    if (spoken) {
        upstream.revision = name_of(*spoken);
        upstream.era = name_of(era_of(*spoken));
    }
    admitted.note_upstream(std::move(upstream));
    co_return reply;
}

std::string key_meta(std::string_view key) {
    std::string meta;
    json::Writer(meta).begin_object().key("crab/idempotencyKey").string(key).end_object();
    return meta;
}

/// What a client is told that does not take tasks, of a tool that is nothing else.
std::unexpected<Error> needs_tasks() {
    return fail(
        ErrorCode::kToolFailed, "this tool runs as a task only, which its caller does not take",
        fmt::format(R"({{"{}":{{"code":{},"message":"this tool runs as a task only",)"
                    R"("data":{{"requiredCapabilities":{{"extensions":{{"{}":{{}}}}}}}}}}}})",
                    kPassedError, rpc_code::kMissingClientCapability, kTasksExtension));
}

/// A tool of a front's method, whose params the upstream checks itself.
std::shared_ptr<core::Tool> method_tool(std::string_view name, std::string_view schema) {
    core::ToolSpec spec;
    spec.name = name;
    spec.input_schema = schema;
    spec.idempotent = spec.effects_known = true;
    spec.default_timeout = Milliseconds(60'000);
    spec.max_timeout = Milliseconds(600'000);
    auto tool = core::make_tool(std::move(spec)).value();
    tool->unlisted = tool->unique_name_only = true;
    return tool;
}

Error held_back(std::string_view what, const std::string& source, HeldBack::Why why) {
    return {.code = ErrorCode::kApprovalRequired,
            .message = fmt::format("{} of the MCP server {} is held back ({}); the operator has to "
                                   "look at it and accept it: crab mcp diff {}",
                                   what, source, name_of(why), source)};
}

}  // namespace

Task<core::Outcome> UpstreamToolHost::run(core::AdmittedCall admitted, core::FrameSink& sink) {
    const core::LongCall* const front = core::long_call_of(admitted.call());
    if (tool_.tasks == TaskUse::kAlways && front != nullptr && front->refuses_deferred())
        co_return needs_tasks();
    UpstreamCall call = call_of(admitted);
    call.request.method = "tools/call";
    call.request.name = tool_.name;
    call.request.task = core::resumed_by(admitted.call());
    // who has no handle for it has no use of a task that may be a plain call
    const bool can_wait = front != nullptr && !front->refuses_deferred();
    if (tool_.tasks == TaskUse::kAlways || can_wait) call.request.task_use = tool_.tasks;
    call.arguments = admitted.args();
    json::Writer(call.request.params)
        .begin_object()
        .key("name")
        .string(tool_.name)
        .key("arguments")
        .raw(admitted.args())
        .end_object();
    if (admitted.tool().spec.accepts_idempotency_key) {
        call.request.meta =
            key_meta(core::host_idempotency_key(admitted.call(), *admitted.principal()));
        call.request.may_repeat = true;
    }
    const ReplyContext context{.source = calls_->source(),
                               .method = "tools/call",
                               .tool = &tool_,
                               .answers = call.answers,
                               .on_off_schema = [this](std::string_view why) {
                                   calls_->note_off_schema(tool_.name, why);
                               }};
    auto reply = co_await pass_on(*calls_, std::move(call), tool_.name, admitted, sink);
    if (!reply) co_return fail(std::move(reply.error()));
    co_return outcome_of(std::move(*reply), context);
}

std::optional<Error> UpstreamMethodHost::refusal_of(std::string_view args) const {
    const auto why = held_->find(method_, args);
    if (!why) return std::nullopt;
    return held_back("what this call names", calls_->source(), *why);
}

Task<core::Outcome> UpstreamMethodHost::run(core::AdmittedCall admitted, core::FrameSink& sink) {
    if (auto refusal = refusal_of(admitted.args())) co_return fail(*std::move(refusal));
    UpstreamCall call = call_of(admitted);
    call.request.method = method_;
    call.request.params = admitted.args();
    if (!name_member_.empty())
        call.request.name = json::find_raw_string(admitted.args(), name_member_).value_or("");
    const ReplyContext context{
        .source = calls_->source(), .method = method_, .tool = nullptr, .answers = call.answers};
    auto reply = co_await pass_on(*calls_, std::move(call), method_, admitted, sink);
    if (!reply) co_return fail(std::move(reply.error()));
    co_return outcome_of(std::move(*reply), context);
}

Task<core::Outcome> HeldBackHost::run(core::AdmittedCall call, core::FrameSink&) {
    co_return fail(held_back(call.tool().spec.name, source_, why_));
}

std::vector<std::shared_ptr<core::Tool>> make_method_tools(
    const std::shared_ptr<UpstreamCalls>& calls, const std::shared_ptr<const HeldEntries>& held) {
    struct Method {
        std::string_view tool, method, name, schema;
    };
    static constexpr Method kMethods[] = {
        {kReadTool, "resources/read", "uri",
         R"({"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]})"},
        {kGetTool, "prompts/get", "name",
         R"({"type":"object","properties":{"name":{"type":"string"},)"
         R"("arguments":{"type":"object"}},"required":["name"]})"},
        {kCompleteTool, "completion/complete", "",
         R"({"type":"object","properties":{"ref":{"type":"object"},)"
         R"("argument":{"type":"object"}},"required":["ref","argument"]})"}};
    std::vector<std::shared_ptr<core::Tool>> tools;
    for (const Method& each : kMethods) {
        tools.push_back(method_tool(each.tool, each.schema));
        tools.back()->host =
            std::make_shared<UpstreamMethodHost>(calls, held, each.method, each.name);
    }
    return tools;
}

std::shared_ptr<core::Tool> make_held_back(const core::Tool& tool, const std::string& source,
                                           HeldBack::Why why) {
    auto stub = method_tool(tool.spec.name, "");
    stub->unique_name_only = false;
    stub->host = std::make_shared<HeldBackHost>(source, why);
    return stub;
}

}  // namespace crab::mcp
