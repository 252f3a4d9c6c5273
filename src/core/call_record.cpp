#include "core/call_record.hpp"

#include "json/writer.hpp"

namespace crab::core {
namespace {

std::int64_t micros(std::int64_t ns) { return ns / 1000; }

void append_attempt(json::Writer& writer, const CallFacts::Attempt& attempt) {
    writer.begin_object().key("us").integer(micros(attempt.took.count())).key("status").string(name_of(attempt.status));
    if (attempt.status != Status::kOk) writer.key("code").string(token_of(attempt.code));
    writer.end_object();
}

}  // namespace

void append_call_record(std::string& out, const Call& call, const Principal& principal, const CallFacts& facts, const Outcome* outcome) {
    json::Writer writer(out);
    writer.begin_object().key("call_id").string(call.id).key("time").string(Rfc3339Text(call.timeline.started_at()).view());
    writer.key("front").string(call.front).key("principal").string(principal.id).key("proof").string(name_of(principal.proof));
    if (!call.tenant.empty()) writer.key("tenant").string(call.tenant);
    if (!call.context.agent_id.empty()) writer.key("agent").string(call.context.agent_id);
    if (!call.context.session_id.empty()) writer.key("session").string(call.context.session_id);
    if (!call.context.trace_id.empty()) writer.key("trace_id").string(call.context.trace_id);
    writer.key("tool").string(call.tool);
    if (facts.tool) {
        writer.key("source").string(facts.tool->source_text);
        writer.key("decision").string(name_of(facts.decision.verdict)).key("rule").string(facts.decision.rule);
    }
    if (!facts.hooks.empty()) {
        writer.key("hooks").begin_array();
        for (const auto& note : facts.hooks) {
            writer.begin_object().key("hook").string(note.hook).key("answer").string(note.answer).key("us").integer(micros(note.took.count())).end_object();
        }
        writer.end_array();
    }
    writer.key("args_bytes").unsigned_integer(call.args.size());
    if (outcome == nullptr) {
        writer.key("status").string("dispatching").end_object();
        return;
    }
    if (facts.dispatched) {
        writer.key("attempts").begin_array();
        for (const auto& attempt : facts.attempts) append_attempt(writer, attempt);
        append_attempt(writer, facts.last);
        writer.end_array();
    }
    writer.key("status").string(name_of(status_of(*outcome)));
    if (*outcome) {
        writer.key("result_bytes").unsigned_integer((*outcome)->content.size());
    } else {
        writer.key("code").string(token_of(outcome->error().code)).key("message").string_lossy(std::string_view(outcome->error().message).substr(0, 512));
    }
    if (facts.replayed) writer.key("replayed").boolean(true);
    writer.key("duration_us").integer(micros(call.timeline.offset_ns(Stage::kFinished)));
    writer.key("timeline").begin_object();
    for (std::size_t i = 1; i + 1 < kStages; ++i) {
        const Stage stage = static_cast<Stage>(i);
        const std::int64_t at = call.timeline.offset_ns(stage);
        if (at >= 0 && stage != Stage::kAdmitted && stage != Stage::kLimited) writer.key(name_of(stage)).integer(micros(at));
        // Admission and limits matter only to a call that had to wait there.
        if (at >= 0 && (stage == Stage::kAdmitted || stage == Stage::kLimited) && at != call.timeline.offset_ns(Stage::kValidated)) writer.key(name_of(stage)).integer(micros(at));
    }
    writer.end_object().end_object();
}

}  // namespace crab::core
