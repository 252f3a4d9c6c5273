#include "adapters/rtp/events/call_event_log.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/events/event_repair.hpp"
#include "adapters/rtp/events/event_wire.hpp"
#include "adapters/rtp/hosts/host_wire.hpp"
#include "json/value.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace crab::rtp {
namespace {

using core::CallStep;
using core::EventType;

/// The trace that a `traceparent` names (W3C Trace Context): its second field.
std::string_view trace_of(std::string_view traceparent) {
    constexpr std::size_t kBegin = 3, kLength = 32;
    return traceparent.size() >= kBegin + kLength ? traceparent.substr(kBegin, kLength)
                                                  : std::string_view();
}

std::string_view first_of(std::initializer_list<std::string_view> texts) {
    const auto found =
        std::ranges::find_if(texts, [](std::string_view text) { return !text.empty(); });
    return found == texts.end() ? std::string_view() : *found;
}

std::int64_t whole_ms(std::chrono::nanoseconds duration) {
    return std::max<std::int64_t>(std::chrono::duration_cast<Milliseconds>(duration).count(), 0);
}

/// After this error the outcome of a call is unknown.
CallStep end_of(const core::Outcome& outcome) {
    return !outcome && outcome.error().code == ErrorCode::kOutcomeUnknown ? CallStep::kEndedUnknown
                                                                          : CallStep::kEnded;
}

EventType type_of_end(const core::Outcome& outcome) {
    return outcome ? EventType::kToolCallCompleted : EventType::kToolCallFailed;
}

Error unknown_end() {
    return fail(ErrorCode::kOutcomeUnknown,
                "the gateway stopped before it had an answer: the call may or may not have run")
        .error();
}
Error not_json() {
    return fail(ErrorCode::kInternal, "the request event of a call is not JSON").error();
}

/// The payload of an end, and the end of its envelope.
void append_end(std::string& out, std::string_view call_id, std::string_view tool_name,
                const core::Outcome& outcome, std::chrono::nanoseconds duration) {
    json::Writer writer(out);
    writer.begin_object()
        .key("call_id")
        .string_lossy(call_id)
        .key("tool_name")
        .string(tool_name)
        .key("status")
        .string(wire_status(outcome));
    if (outcome) {
        writer.key("result");
        append_result(out, *outcome);
    } else {
        writer.key("error");
        append_error(writer, outcome.error(),
                     core::status_of(outcome) == core::Status::kRetryableError);
    }
    json::Writer(out += ',').key("duration_ms").integer(whole_ms(duration)).end_object();
    out += '}';
}

/// The text at a place of an event's envelope; empty when there is none.
std::string text_at(const json::Value& envelope, std::string_view pointer) {
    const json::Value* const value = envelope.resolve(pointer);
    return std::string(value != nullptr && value->as_string() ? *value->as_string() : "");
}

/// The request as it was when the ledger recorded it. Errors: kInternal.
Result<core::NewEvent> request_of(const core::UnfinishedCall& call) {
    const auto envelope = json::Value::parse(call.event);
    if (!envelope) return fail(not_json());
    core::NewEvent request;
    request.step = CallStep::kRequested;
    request.event = {.type = EventType::kToolCallRequested,
                     .event_id = text_at(*envelope, "/event_id"),
                     .tenant = text_at(*envelope, "/tenant_id"),
                     .agent_id = text_at(*envelope, "/routing/agent_id"),
                     .session_id = text_at(*envelope, "/routing/session_id"),
                     .addressee = call.addressee,
                     .envelope = call.event};
    return request;
}

/// A call of an earlier run whose request was to be told.
struct Recorded {
    core::NewEvent request;
    const core::UnfinishedCall* call;
};
// by the request's id, and so in the order of time
using RecordedCalls = std::map<std::string, Recorded, std::less<>>;

Result<RecordedCalls> recorded_calls(const std::vector<core::UnfinishedCall>& of_ledger) {
    RecordedCalls calls;
    for (const core::UnfinishedCall& call : of_ledger) {
        if (call.event.empty()) continue;
        auto request = request_of(call);
        if (!request) return fail(std::move(request.error()));
        std::string id = request->event.event_id;
        calls.try_emplace(std::move(id), std::move(*request), &call);
    }
    return calls;
}

/// They are durable in the ledger, and may be missing in the outbox.
Result<void> add_lost_requests(core::EventStore& store, const RecordedCalls& calls,
                               const Clock& clock) {
    SystemTime oldest = SystemTime::max();
    std::vector<core::NewEvent> requests;
    for (const auto& [id, recorded] : calls) {
        oldest = std::min(oldest, recorded.call->admitted_at);
        requests.push_back(recorded.request);
    }
    return append_lost_requests(store, std::move(requests), oldest, clock);
}

}  // namespace

core::NewEvent CallEventLog::begin(const core::AdmittedCall& admitted, EventType type,
                                   UuidText event_id) const {
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
    begin_envelope(
        about, {.trace_id = first_of({call.context.trace_id, trace_of(call.traceparent), call.id}),
                .isolation_key = call.context.isolation_key,
                .gateway_id = gateway_id_,
                .occurred_at = clock_.system_now()});
    return event;
}

std::unique_ptr<core::NewEvent> CallEventLog::request(const core::AdmittedCall& call,
                                                      UuidText request_id) {
    auto event =
        std::make_unique<core::NewEvent>(begin(call, EventType::kToolCallRequested, request_id));
    event->step = CallStep::kRequested;
    std::string& out = event->event.envelope;
    json::Writer writer(out);
    const auto left = call.deadline() - clock_.steady_now();
    writer.begin_object()
        .key("call_id")
        .string_lossy(call.call().id)
        .key("tool_name")
        .string(call.tool().spec.name)
        .key("args")
        .raw(call.args());
    writer.key("timeout_ms").integer(whole_ms(left)).end_object();
    out += '}';
    return event;
}

void CallEventLog::ended(const core::AdmittedCall& call, UuidText request_id, UuidText event_id,
                         const core::Outcome& outcome, std::chrono::nanoseconds duration) {
    core::NewEvent event = begin(call, type_of_end(outcome), event_id);
    event.step = end_of(outcome);
    event.requested_id = request_id.view();
    append_end(event.event.envelope, call.call().id, call.tool().spec.name, outcome, duration);
    outbox_.post_owed(std::move(event));
}

Result<std::size_t> CallEventLog::end_open_calls(core::EventStore& store,
                                                 const std::vector<core::UnfinishedCall>& of_ledger,
                                                 const Clock& clock, std::string_view gateway_id) {
    const auto recorded = recorded_calls(of_ledger);
    if (!recorded) return fail(recorded.error());
    if (auto added = add_lost_requests(store, *recorded, clock); !added)
        return fail(std::move(added.error()));
    const auto open = store.open_calls();
    if (!open) return fail(open.error());
    const core::Outcome unknown = fail(unknown_end());
    IdSource ids(clock);
    std::vector<core::NewEvent> ends;
    for (const core::StoredEvent& request : *open) {
        if (request.event.type != EventType::kToolCallRequested) continue;
        const auto envelope = json::Value::parse(request.event.envelope);
        if (!envelope) return fail(not_json());
        const auto found = recorded->find(request.event.event_id);
        const bool is_known = found != recorded->end() && found->second.call->outcome != nullptr;
        const core::Outcome& outcome = is_known ? *found->second.call->outcome : unknown;
        const std::chrono::nanoseconds duration =
            is_known ? found->second.call->duration : clock.system_now() - request.at;
        const UuidText id = ids.uuid_v7();
        core::NewEvent end{.event = request.event,
                           .publisher = {},
                           .idempotency_key = {},
                           .step = end_of(outcome),
                           .call_id = text_at(*envelope, "/payload/call_id"),
                           .requested_id = request.event.event_id};
        end.event.type = type_of_end(outcome);
        end.event.event_id = id.view();
        begin_envelope(end.event, {.trace_id = text_at(*envelope, "/trace_id"),
                                   .isolation_key = text_at(*envelope, "/routing/isolation_key"),
                                   .gateway_id = gateway_id,
                                   .occurred_at = clock.system_now()});
        append_end(end.event.envelope, end.call_id, text_at(*envelope, "/payload/tool_name"),
                   outcome, duration);
        ends.push_back(std::move(end));
    }
    if (auto written = append_events(store, ends, clock); !written)
        return fail(std::move(written.error()));
    return ends.size();
}

}  // namespace crab::rtp
