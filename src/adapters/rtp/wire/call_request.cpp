#include "adapters/rtp/wire/call_request.hpp"

#include "json/writer.hpp"

namespace crab::rtp {
namespace {

void append_given(json::Writer& writer, std::string_view name, std::string_view text) {
    if (!text.empty()) writer.key(name).string_lossy(text);
}

void append_context(json::Writer& writer, const core::CallContext& context) {
    writer.key("context").begin_object();
    append_given(writer, "agent_id", context.agent_id);
    append_given(writer, "session_id", context.session_id);
    append_given(writer, "platform", context.platform);
    append_given(writer, "channel_id", context.channel_id);
    append_given(writer, "actor_id", context.actor_id);
    append_given(writer, "isolation_key", context.isolation_key);
    append_given(writer, "trace_id", context.trace_id);
    append_given(writer, "request_origin", context.request_origin);
    writer.end_object();
}

}  // namespace

void append_call_request(std::string& out, const CallRequest& request) {
    json::Writer writer(out);
    writer.begin_object()
        .key("version")
        .string("v1")
        .key("call_id")
        .string_lossy(request.call_id)
        .key("tool_name")
        .string_lossy(request.tool);
    writer.key("tenant_id").string_lossy(request.tenant).key("args").raw(request.args);
    if (request.timeout_ms) writer.key("timeout_ms").integer(*request.timeout_ms);
    append_given(writer, "idempotency_key", request.idempotency_key);
    append_context(writer, request.context);
    writer.end_object();
}

void append_cancel_request(std::string& out, std::string_view tenant, std::string_view call_id,
                           CancelReason reason) {
    json::Writer writer(out);
    writer.begin_object()
        .key("version")
        .string("v1")
        .key("tenant_id")
        .string_lossy(tenant)
        .key("call_id")
        .string_lossy(call_id);
    writer.key("reason")
        .string(reason == CancelReason::kTimeout ? "timeout" : "cancelled")
        .end_object();
}

}  // namespace crab::rtp
