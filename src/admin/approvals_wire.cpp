#include "admin/approvals_wire.hpp"

namespace crab::admin {
namespace {

void text(json::Writer& writer, std::string_view key, std::string_view value) {
    if (!value.empty()) writer.key(key).string_lossy(value);
}

void append_subject(json::Writer& writer, const core::ApprovalSubject& subject) {
    writer.key("principal")
        .string_lossy(subject.principal)
        .key("tool")
        .string(subject.tool)
        .key("source")
        .string_lossy(subject.source);
    text(writer, "tenant", subject.tenant);
    text(writer, "session", subject.session);
    text(writer, "worktree", subject.place);
    text(writer, "rule", subject.rule);
    writer.key("network_policy")
        .string(core::name_of(subject.network))
        .key("privilege_level")
        .string(core::name_of(subject.privilege));
}

}  // namespace

void append_approval(json::Writer& writer, const core::ApprovalQuestion& question,
                     const core::ApprovalEnd& end) {
    writer.begin_object()
        .key("id")
        .string(question.id)
        .key("state")
        .string(core::name_of(end.state))
        .key("call_id")
        .string_lossy(question.call_id);
    append_subject(writer, question.subject);
    text(writer, "agent", question.agent);
    text(writer, "front", question.front);
    text(writer, "description", question.description);
    writer.key("args").string_lossy(question.args);
    writer.key("asked_at")
        .string(to_rfc3339(question.asked_at))
        .key("until")
        .string(to_rfc3339(question.until));
    if (!end.by.empty())
        writer.key("decided_by").string_lossy(end.by).key("scope").string(core::name_of(end.scope));
    if (end.state != core::ApprovalState::kPending)
        writer.key("waited_ms")
            .integer(std::chrono::duration_cast<Milliseconds>(end.waited).count());
    writer.end_object();
}

void append_remembered(json::Writer& writer, const core::RememberedApproval& decision) {
    writer.begin_object()
        .key("id")
        .string(decision.id)
        .key("decision")
        .string(decision.allow ? "allow" : "deny")
        .key("scope")
        .string(core::name_of(decision.scope));
    core::ApprovalSubject confined = decision.subject;
    if (decision.scope == core::ApprovalScope::kAlways) confined.session.clear();  // it is for all
    append_subject(writer, confined);
    writer.key("decided_by")
        .string_lossy(decision.by)
        .key("decided_at")
        .string(to_rfc3339(decision.at));
    if (decision.until) writer.key("until").string(to_rfc3339(*decision.until));
    writer.end_object();
}

}  // namespace crab::admin
