#include "adapters/rtp/call_event_log.hpp"

#include "adapters/rtp/call_wire.hpp"
#include "adapters/rtp/event_wire.hpp"
#include "adapters/rtp/host_wire.hpp"
#include "json/value.hpp"

#include <algorithm>

namespace crab::rtp {
namespace {

using core::CallStep;
using core::EventType;

/// The trace that a `traceparent` names (W3C Trace Context): its second field.
std::string_view trace_of(std::string_view traceparent) {
    constexpr std::size_t kBegin = 3, kLength = 32;
    return traceparent.size() >= kBegin + kLength ? traceparent.substr(kBegin, kLength) : std::string_view();
}

std::string_view first_of(std::initializer_list<std::string_view> texts) {
    const auto found = std::ranges::find_if(texts, [](std::string_view text) { return !text.empty(); });
    return found == texts.end() ? std::string_view() : *found;
}

std::int64_t whole_ms(std::chrono::nanoseconds duration) { return std::max<std::int64_t>(std::chrono::duration_cast<Milliseconds>(duration).count(), 0); }

/// After this nobody can tell how a call ended.
CallStep end_of(const core::Outcome& outcome) {
    return !outcome && outcome.error().code == ErrorCode::kOutcomeUnknown ? CallStep::kEndedUnknown : CallStep::kEnded;
}

Error unknown_end() {
    return fail(ErrorCode::kOutcomeUnknown, "the gateway stopped before it had an answer: the call may or may not have run").error();
}

}  // namespace

core::NewEvent CallEventLog::begin(const core::AdmittedCall& admitted, EventType type, UuidText event_id) const {
    const core::Call& call = admitted.call();
    const core::Tool& tool = admitted.tool();
    core::NewEvent event;
    core::Event& about = event.event;
    about.type = type;
    about.event_id = event_id.view();
    about.tenant = tenant_on_wire(call);
    about.agent_id = first_of({call.context.agent_id, admitted.principal()->id});
    about.session_id = first_of({call.context.session_id, call.id});
    if (tool.source.kind == core::SourceKind::kPeer) about.addressee = tool.source.owner;
    event.call_id = call.id;
    begin_envelope(about.envelope, {.event_id = about.event_id,
                                    .trace_id = first_of({call.context.trace_id, trace_of(call.traceparent), call.id}),
                                    .tenant_id = about.tenant,
                                    .agent_id = about.agent_id,
                                    .session_id = about.session_id,
                                    .isolation_key = call.context.isolation_key,
                                    .gateway_id = gateway_id_,
                                    .occurred_at = clock_.system_now(),
                                    .type = type});
    return event;
}

Task<bool> CallEventLog::requested(const core::AdmittedCall& call, UuidText request_id) {
    core::NewEvent event = begin(call, EventType::kToolCallRequested, request_id);
    event.step = CallStep::kRequested;
    std::string& out = event.event.envelope;
    json::Writer writer(out);
    const auto left = call.deadline() - clock_.steady_now();
    writer.begin_object().key("call_id").string_lossy(call.call().id).key("tool_name").string(call.tool().spec.name).key("args").raw(call.args());
    writer.key("timeout_ms").integer(whole_ms(left)).end_object();
    out += '}';
    if (!call.tool().spec.side_effects) co_return outbox_.post(std::move(event));
    const auto receipt = co_await outbox_.publish(std::move(event), call.deadline());
    co_return receipt.has_value();
}

void CallEventLog::ended(const core::AdmittedCall& call, UuidText request_id, UuidText event_id, const core::Outcome& outcome, std::chrono::nanoseconds duration) {
    core::NewEvent event = begin(call, outcome ? EventType::kToolCallCompleted : EventType::kToolCallFailed, event_id);
    event.step = end_of(outcome);
    event.requested_id = request_id.view();
    std::string& out = event.event.envelope;
    json::Writer writer(out);
    writer.begin_object().key("call_id").string_lossy(call.call().id).key("tool_name").string(call.tool().spec.name).key("status").string(wire_status(outcome));
    if (outcome) {
        writer.key("result");
        append_result(out, *outcome);
        out += ',';
    } else {
        writer.key("error");
        append_error(writer, outcome.error(), core::status_of(outcome) == core::Status::kRetryableError);
        out += ',';
    }
    json::Writer(out).key("duration_ms").integer(whole_ms(duration)).end_object();
    out += '}';
    outbox_.post_owed(std::move(event));
}

Result<std::size_t> CallEventLog::end_open_calls(core::EventStore& store, const Clock& clock, std::string_view gateway_id) {
    const auto open = store.open_calls();
    if (!open) return fail(open.error());
    const core::Outcome outcome = fail(unknown_end());
    IdSource ids(clock);
    std::vector<core::NewEvent> ends;
    for (const core::StoredEvent& request : *open) {
        const auto envelope = json::Value::parse(request.event.envelope);
        if (!envelope) return fail(ErrorCode::kInternal, "the outbox holds an event that is not JSON");
        const auto text = [&](std::string_view pointer) {
            const json::Value* const value = envelope->resolve(pointer);
            return std::string(value != nullptr && value->as_string() ? *value->as_string() : "");
        };
        const UuidText id = ids.uuid_v7();
        core::NewEvent end{.event = request.event, .publisher = {}, .idempotency_key = {}, .step = CallStep::kEndedUnknown, .call_id = text("/payload/call_id"), .requested_id = request.event.event_id};
        end.event.type = EventType::kToolCallFailed;
        end.event.event_id = id.view();
        std::string& out = end.event.envelope;
        out.clear();
        begin_envelope(out, {.event_id = id.view(), .trace_id = text("/trace_id"), .tenant_id = end.event.tenant, .agent_id = end.event.agent_id,
                             .session_id = end.event.session_id, .isolation_key = text("/routing/isolation_key"), .gateway_id = gateway_id,
                             .occurred_at = clock.system_now(), .type = EventType::kToolCallFailed});
        json::Writer writer(out);
        writer.begin_object().key("call_id").string(end.call_id).key("tool_name").string(text("/payload/tool_name")).key("status").string("error").key("error");
        append_error(writer, outcome.error(), false);
        json::Writer(out += ',').key("duration_ms").integer(whole_ms(clock.system_now() - request.at)).end_object();
        out += '}';
        ends.push_back(std::move(end));
    }
    if (ends.empty()) return 0;
    for (const auto& receipt : store.append(ends, clock.system_now())) {
        if (!receipt) return fail(receipt.error());
    }
    return ends.size();
}

}  // namespace crab::rtp
