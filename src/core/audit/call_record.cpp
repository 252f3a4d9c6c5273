#include "core/audit/call_record.hpp"

#include "core/call/traceparent.hpp"
#include "json/bounded_writer.hpp"
#include "json/element.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::core {
namespace {

using json::BoundedWriter;

constexpr std::size_t kMostMessage = 512;
constexpr char kBegun[] = R"(,"status":"dispatching"})";

std::int64_t micros(std::int64_t ns) { return ns / 1000; }

/// A member that is left out when empty.
template <std::size_t N>
void text(BoundedWriter& writer, const char (&key)[N], std::string_view value) {
    if (!value.empty()) writer.literal(key).quoted(value);
}

void attempt(BoundedWriter& writer, const CallFacts::Attempt& made) {
    writer.literal("{\"us\":").integer(micros(made.took.count()));
    if (made.at) writer.literal(",\"at_us\":").integer(micros(made.at->count()));
    writer.literal(",\"status\":\"").raw(name_of(made.status));
    if (made.status != Status::kOk) writer.literal("\",\"code\":\"").raw(token_of(made.code));
    writer.literal("\"}");
}

void approval(BoundedWriter& writer, const ApprovalEnd& end) {
    writer.literal(",\"approval\":{\"state\":\"").raw(name_of(end.state)).literal("\"");
    text(writer, ",\"id\":", end.id);
    if (!end.by.empty())
        writer.literal(",\"by\":")
            .quoted(end.by)
            .literal(",\"scope\":\"")
            .raw(name_of(end.scope))
            .literal("\"");
    if (end.remembered) writer.literal(",\"remembered\":true");
    writer.literal(",\"us\":").integer(micros(end.waited.count())).literal("}");
}

void timeline(BoundedWriter& writer, const Timeline& line) {
    writer.literal(",\"timeline\":{");
    bool first = true;
    for (std::size_t i = 1; i + 1 < kStages; ++i) {
        const Stage stage = static_cast<Stage>(i);
        const std::int64_t at = line.offset_ns(stage);
        // Admission and limits matter only to a call that had to wait there.
        const bool waited = (stage != Stage::kAdmitted && stage != Stage::kLimited) ||
                            at != line.offset_ns(Stage::kValidated);
        if (at < 0 || !waited) continue;
        writer.raw(first ? "\"" : ",\"").raw(name_of(stage)).literal("\":").integer(micros(at));
        first = false;
    }
    writer.literal("}");
}

/// What bound the run and what came of it: members that few calls have, each with its comma before
/// it.
std::string run_members(const Call& call, const CallFacts& facts) {
    std::string text;
    const auto member = [&](std::string_view name) {
        return json::Writer(text.append(fmt::format(",\"{}\":", name)));
    };
    if (facts.policy) {
        json::Writer writer = member("policy");
        writer.begin_object();
        append_members(writer, *facts.policy);
        writer.end_object();
    }
    if (call.cpu_spent.count() > 0) member("cpu_ms").integer(call.cpu_spent.count());
    if (facts.sent) {
        member("frames").unsigned_integer(facts.sent->frames);
        member("stream_bytes").unsigned_integer(facts.sent->bytes);
    }
    if (facts.input_rounds > 0) member("input_rounds").unsigned_integer(facts.input_rounds);
    if (!facts.cause.empty()) member("cause").string(facts.cause);
    if (!facts.cancelled_by.empty()) member("cancelled_by").string(facts.cancelled_by);
    return text;
}

/// What the record can take at most: a kilobyte of keys, numbers and a traceparent, and its texts.
std::size_t room_for(const Call& call, const Principal& principal, const CallFacts& facts,
                     std::string_view message) {
    std::size_t texts = call.id.size() + call.front.size() + principal.id.size() +
                        call.tenant.size() + call.context.agent_id.size() +
                        call.context.session_id.size() + call.context.trace_id.size() +
                        call.tool.size() + facts.decision.rule.size() + message.size() +
                        call.client.name.size() + call.client.version.size() +
                        call.upstream.tool.size();
    if (facts.tool) texts += facts.tool->source_text.size();
    if (facts.approval) texts += facts.approval->id.size() + facts.approval->by.size() + 64;
    for (const auto& note : facts.hooks) texts += note.hook.size() + note.answer.size() + 64;
    return 1360 + BoundedWriter::room_for(texts) + 128 * facts.attempts.size();
}

/// Revision and era of a protocol; static text of adapters.
void spoken(BoundedWriter& writer, std::string_view revision, std::string_view era) {
    if (revision.empty()) return;
    writer.literal(",\"revision\":\"").raw(revision).literal("\",\"era\":\"").raw(era);
    writer.literal("\"");
}

/// What its caller's program calls itself, cleaned by the front.
void client(BoundedWriter& writer, const CallClient& client) {
    if (client.revision.empty()) return;
    writer.literal(",\"client\":{\"name\":").quoted(client.name);
    text(writer, ",\"version\":", client.version);
    spoken(writer, client.revision, client.era);
    writer.literal("}");
}

void upstream(BoundedWriter& writer, const CallUpstream& upstream) {
    if (upstream.tool.empty()) return;
    writer.literal(",\"upstream\":{\"tool\":").quoted(upstream.tool);
    spoken(writer, upstream.revision, upstream.era);
    writer.literal("}");
}

/// Who calls what, and for whom.
void caller(BoundedWriter& writer, const Call& call, const Principal& principal) {
    writer.literal("{\"call_id\":")
        .quoted(call.id)
        .literal(",\"time\":\"")
        .raw(Rfc3339Text(call.timeline.started_at()).view());
    writer.literal("\",\"front\":")
        .quoted(call.front)
        .literal(",\"principal\":")
        .quoted(principal.id)
        .literal(",\"proof\":\"")
        .raw(name_of(principal.proof))
        .literal("\"");
    text(writer, ",\"tenant\":", call.tenant);
    if (call.context.agent_id != principal.id) text(writer, ",\"agent\":", call.context.agent_id);
    text(writer, ",\"session\":", call.context.session_id);
    text(writer, ",\"trace_id\":", call.context.trace_id);
    if (parse_traceparent(call.traceparent)) text(writer, ",\"traceparent\":", call.traceparent);
    client(writer, call.client);
    writer.literal(",\"tool\":").quoted(call.tool);
}

/// Who let it pass: the policy, the hooks, a person.
void decisions(BoundedWriter& writer, const CallFacts& facts) {
    if (facts.tool) {
        writer.literal(",\"source\":")
            .quoted(facts.tool->source_text)
            .literal(",\"decision\":\"")
            .raw(name_of(facts.decision.verdict));
        writer.literal("\",\"rule\":").quoted(facts.decision.rule);
    }
    if (!facts.hooks.empty()) {
        writer.literal(",\"hooks\":[");
        for (const auto& note : facts.hooks) {
            writer.raw(&note == &facts.hooks.front() ? "" : ",")
                .literal("{\"hook\":")
                .quoted(note.hook)
                .literal(",\"answer\":")
                .quoted(note.answer);
            writer.literal(",\"us\":").integer(micros(note.took.count())).literal("}");
        }
        writer.literal("]");
    }
    if (facts.approval) approval(writer, *facts.approval);
}

void attempts(BoundedWriter& writer, const CallFacts& facts) {
    if (!facts.dispatched) return;
    writer.literal(",\"attempts\":[");
    for (const auto& made : facts.attempts) {
        attempt(writer, made);
        writer.literal(",");
    }
    attempt(writer, facts.last);
    writer.literal("]");
}

/// `message`: the error's, quoted.
void end(BoundedWriter& writer, const Outcome& outcome, std::string_view message) {
    writer.literal(",\"status\":\"").raw(name_of(status_of(outcome))).literal("\"");
    if (outcome) {
        writer.literal(",\"result_bytes\":")
            .integer(static_cast<std::int64_t>(outcome->content.size()));
    } else {
        writer.literal(",\"code\":\"")
            .raw(token_of(outcome.error().code))
            .literal("\",\"message\":")
            .raw(message);
    }
}

}  // namespace

void append_call_record(std::string& out, const Call& call, const Principal& principal,
                        const CallFacts& facts, const Outcome* outcome) {
    std::string message;  // made valid UTF-8: it may come from a device
    if (outcome != nullptr && !*outcome) {
        json::append_quoted_lossy(
            message, std::string_view(outcome->error().message).substr(0, kMostMessage));
    }
    const std::string run = run_members(call, facts);
    BoundedWriter writer(out, room_for(call, principal, facts, message) + run.size());
    caller(writer, call, principal);
    decisions(writer, facts);
    writer.literal(",\"args_bytes\":")
        .integer(static_cast<std::int64_t>(call.arguments_size()))
        .raw(run);
    if (outcome == nullptr) {
        writer.literal(kBegun);
        return;
    }
    upstream(writer, call.upstream);
    attempts(writer, facts);
    end(writer, *outcome, message);
    if (facts.replayed) writer.literal(",\"replayed\":true");
    writer.literal(",\"duration_us\":").integer(micros(call.timeline.offset_ns(Stage::kFinished)));
    timeline(writer, call.timeline);
    writer.literal("}");
}

std::optional<std::string> call_id_of(std::string_view record) {
    json::Parser parser;
    const auto root = parser.parse(record);
    if (!root) return std::nullopt;
    const auto id = json::get_string(root->element(), "call_id");
    return id ? std::optional<std::string>(*id) : std::nullopt;
}

bool is_begin_record(std::string_view record) { return record.ends_with(kBegun); }

}  // namespace crab::core
