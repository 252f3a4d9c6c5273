#include "adapters/rtp/events/approval_event.hpp"

#include "adapters/rtp/events/event_wire.hpp"
#include "json/writer.hpp"

namespace crab::rtp {
namespace {

std::string or_else(const std::string& text, std::string_view other) {
    return text.empty() ? std::string(other) : text;
}

}  // namespace

core::NewEvent approval_event(const core::ApprovalQuestion& question, const core::ApprovalEnd* end,
                              std::string_view event_id, std::string_view gateway_id,
                              SystemTime now) {
    const core::ApprovalSubject& subject = question.subject;
    core::NewEvent made;
    core::Event& event = made.event;
    event.type =
        end == nullptr ? core::EventType::kApprovalRequested : core::EventType::kApprovalDecided;
    event.event_id = event_id;
    event.tenant = or_else(subject.tenant, "default");
    event.agent_id = or_else(question.agent, "gateway");
    event.session_id = or_else(subject.session, question.id);
    begin_envelope(event,
                   {.trace_id = question.call_id, .gateway_id = gateway_id, .occurred_at = now});
    json::Writer writer(event.envelope);
    writer.begin_object()
        .key("approval_id")
        .string(question.id)
        .key("call_id")
        .string_lossy(question.call_id)
        .key("tool_name")
        .string(subject.tool);
    writer.key("principal").string_lossy(subject.principal).key("rule").string_lossy(subject.rule);
    writer.key("network_policy")
        .string(core::name_of(subject.network))
        .key("privilege_level")
        .string(core::name_of(subject.privilege));
    if (!subject.place.empty()) writer.key("worktree").string_lossy(subject.place);
    if (end == nullptr) {
        writer.key("until").string(to_rfc3339(question.until));
    } else {
        writer.key("state").string(core::name_of(end->state));
        if (!end->by.empty())
            writer.key("decided_by")
                .string_lossy(end->by)
                .key("scope")
                .string(core::name_of(end->scope));
        writer.key("waited_ms")
            .integer(std::chrono::duration_cast<Milliseconds>(end->waited).count());
    }
    writer.end_object();
    event.envelope += '}';
    return made;
}

}  // namespace crab::rtp
