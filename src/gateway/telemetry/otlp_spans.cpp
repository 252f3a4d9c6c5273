#include "gateway/telemetry/otlp_spans.hpp"

#include "base/duration_text.hpp"
#include "core/call/call_span.hpp"
#include "core/call/timeline.hpp"
#include "core/live/finished_call.hpp"
#include "json/element.hpp"
#include "json/schema/rfc3339.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

enum class Kind : std::uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

// Names of attributes; those of OpenTelemetry are not stable yet.
constexpr std::string_view kOperation = "gen_ai.operation.name";
constexpr std::string_view kTool = "gen_ai.tool.name";
constexpr std::string_view kCallId = "gen_ai.tool.call.id";
constexpr std::string_view kAgent = "gen_ai.agent.name";
constexpr std::string_view kConversation = "gen_ai.conversation.id";
constexpr std::string_view kErrorType = "error.type";
constexpr std::string_view kPrincipal = "crab.principal";
constexpr std::string_view kSource = "crab.source";
constexpr std::string_view kRule = "crab.rule";
constexpr std::string_view kApproval = "crab.approval";
constexpr std::string_view kCameBy = "crab.front";
constexpr std::string_view kAttempts = "crab.attempts";
constexpr std::string_view kTraceId = "crab.trace_id";  // one that is no W3C trace id
constexpr std::string_view kProvider = "gen_ai.provider.name";
constexpr std::string_view kModel = "gen_ai.request.model";
constexpr std::string_view kAnsweredBy = "gen_ai.response.model";
constexpr std::string_view kInputTokens = "gen_ai.usage.input_tokens";
constexpr std::string_view kOutputTokens = "gen_ai.usage.output_tokens";
constexpr std::string_view kExecute = "execute_tool";
constexpr std::string_view kInvoke = "invoke_agent";
constexpr std::string_view kChat = "chat";

/// What the record says beside FinishedCall.
struct More {
    std::string_view approval;
    struct Attempt {
        std::int64_t at_us = -1;  ///< not known of the last
        std::int64_t us = 0;
        std::string_view code;  ///< of a failure
    };
    std::vector<Attempt> attempts{};
};

More more_of(json::Element record) {
    More more;
    if (const auto approval = json::get(record, "approval"))
        more.approval = json::get_string(*approval, "state").value_or("");
    json::Array attempts;
    if (const auto made = json::get(record, "attempts");
        made && made->get(attempts) == simdjson::SUCCESS) {
        for (const json::Element attempt : attempts)
            more.attempts.push_back({.at_us = json::get_int64(attempt, "at_us").value_or(-1),
                                     .us = json::get_int64(attempt, "us").value_or(0),
                                     .code = json::get_string(attempt, "code").value_or("")});
    }
    return more;
}

/// The id of a span below that of a call.
std::string part_id(const core::CallSpan& place, std::string_view part) {
    return core::span_id_of(fmt::format("{} {}", place.span_id, part));
}

class SpanWriter {
public:
    SpanWriter(CallSpans& spans, std::string_view trace_id, std::int64_t started_ns)
        : spans_(spans), trace_id_(trace_id), started_ns_(started_ns) {}

    /// From the begin of a span to its attributes; end() has to follow.
    void begin(std::string_view id, std::string_view parent, std::string_view name, Kind kind,
               std::int64_t from_us, std::int64_t to_us) {
        writer_.begin_object().key("traceId").string(trace_id_).key("spanId").string(id);
        if (!parent.empty()) writer_.key("parentSpanId").string(parent);
        writer_.key("name").string(name).key("kind").integer(static_cast<int>(kind));
        writer_.key("startTimeUnixNano").string(time_at(from_us));
        writer_.key("endTimeUnixNano").string(time_at(to_us)).key("attributes").begin_array();
    }
    void attribute(std::string_view name, std::string_view value) {
        if (value.empty()) return;
        writer_.begin_object().key("key").string(name).key("value").begin_object();
        writer_.key("stringValue").string(value).end_object().end_object();
    }
    void attribute(std::string_view name, std::int64_t value) {
        writer_.begin_object().key("key").string(name).key("value").begin_object();
        writer_.key("intValue").string(fmt::format("{}", value)).end_object().end_object();
    }
    void end(std::string_view error = {}) {
        writer_.end_array();
        if (!error.empty()) {
            writer_.key("status").begin_object().key("code").integer(2);
            writer_.key("message").string(error).end_object();
        }
        writer_.end_object();
        ++spans_.count;
    }

private:
    std::string time_at(std::int64_t us) const {
        return fmt::format("{}", started_ns_ + us * 1000);
    }

    CallSpans& spans_;
    const std::string_view trace_id_;
    const std::int64_t started_ns_;
    json::Writer writer_{spans_.json};
};

void write_root(SpanWriter& spans, const core::FinishedCall& call, const More& more,
                const core::CallSpan& place) {
    const std::string_view error = !call.failed()       ? ""
                                   : !call.code.empty() ? call.code
                                                        : name_of(call.status);
    spans.begin(place.span_id, place.parent, fmt::format("{} {}", kExecute, call.tool),
                Kind::kServer, 0, call.duration_us);
    spans.attribute(kOperation, kExecute);
    spans.attribute(kTool, call.tool);
    spans.attribute(kCallId, call.call_id);
    spans.attribute(kAgent, call.agent);
    spans.attribute(kConversation, call.session);
    spans.attribute(kErrorType, error);
    spans.attribute(kPrincipal, call.principal);
    spans.attribute(kSource, call.source);
    spans.attribute(kRule, call.rule);
    spans.attribute(kApproval, more.approval);
    spans.attribute(kCameBy, call.front);
    spans.attribute(kTraceId, place.foreign);
    if (!more.attempts.empty())
        spans.attribute(kAttempts, static_cast<std::int64_t>(more.attempts.size()));
    spans.end(error);
}

/// Microseconds after the call's arrival.
struct StageTime {
    core::Stage stage;
    std::int64_t from, to;
};

/// The attempts: under `dispatched` those before the last was sent, under `answered` the last.
void write_attempts(SpanWriter& spans, const core::FinishedCall& call, const More& more,
                    const core::CallSpan& place, const StageTime& stage) {
    if (more.attempts.empty()) return;
    const std::string parent = part_id(place, name_of(stage.stage));
    const auto write = [&](std::size_t number, std::int64_t begin, std::int64_t end) {
        const std::string_view code = more.attempts[number].code;
        begin = std::clamp(begin, stage.from, stage.to);
        spans.begin(part_id(place, fmt::format("attempt {}", number)), parent, call.source,
                    Kind::kClient, begin, std::clamp(end, begin, stage.to));
        spans.attribute(kTool, call.tool);
        spans.attribute(kErrorType, code);
        spans.end(code);
    };
    const std::size_t last = more.attempts.size() - 1;
    if (stage.stage == core::Stage::kAnswered)
        return write(last, stage.to - more.attempts[last].us, stage.to);
    for (std::size_t i = 0; stage.stage == core::Stage::kDispatched && i < last; ++i)
        if (const auto& made = more.attempts[i]; made.at_us >= 0)
            write(i, made.at_us, made.at_us + made.us);
}

/// A span for each stage, and the attempts under those in which they were made.
void write_stages(SpanWriter& spans, const core::FinishedCall& call, const More& more,
                  const core::CallSpan& place) {
    std::int64_t at = 0;
    for (std::size_t i = 1; i < core::kStages; ++i) {
        if (call.stage_us[i] < 0) continue;
        const auto stage = static_cast<core::Stage>(i);
        const std::int64_t end = at + call.stage_us[i];
        spans.begin(part_id(place, name_of(stage)), place.span_id, name_of(stage), Kind::kInternal,
                    at, end);
        spans.end();
        write_attempts(spans, call, more, place, {.stage = stage, .from = at, .to = end});
        at = end;
    }
}

std::int64_t micros(std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

void write_request(SpanWriter& spans, const agent::TracedTurn& turn,
                   const agent::TracedTurn::Request& made) {
    spans.begin(made.span_id, turn.span_id, fmt::format("{} {}", kChat, made.model), Kind::kClient,
                micros(made.from), micros(made.to));
    spans.attribute(kOperation, kChat);
    spans.attribute(kProvider, made.provider);
    spans.attribute(kModel, made.model);
    spans.attribute(kAnsweredBy, made.answered_by);
    spans.attribute(kConversation, turn.session_id);
    spans.attribute(kErrorType, made.error);
    if (made.input_tokens > 0) spans.attribute(kInputTokens, made.input_tokens);
    if (made.output_tokens > 0) spans.attribute(kOutputTokens, made.output_tokens);
    spans.end(made.error);
}

}  // namespace

std::optional<SpanSampling> SpanSampling::read(double share, std::span<const std::string> always) {
    constexpr std::string_view kSlow = "slow:";
    SpanSampling sampling{.share = share, .errors = false, .slow = {}};
    for (const std::string& word : always) {
        if (word == "errors") {
            sampling.errors = true;
        } else if (const auto from = word.starts_with(kSlow)
                                         ? parse_duration(std::string_view(word).substr(5))
                                         : std::nullopt) {
            sampling.slow = *from;
        } else {
            return std::nullopt;
        }
    }
    return sampling;
}

bool SpanSampling::takes(std::string_view trace_id, bool failed,
                         std::chrono::nanoseconds took) const {
    return (slow && took >= *slow) || (errors && failed) || core::is_in_share(trace_id, share);
}

std::optional<CallSpans> OtlpSpans::of(std::string_view record, const SpanSampling& sampling) {
    const auto call = core::parse_finished_call(record, parser_);
    if (!call) return std::nullopt;
    const core::CallSpan place = core::span_of({.call_id = call->call_id,
                                                .time = call->time,
                                                .trace_id = call->trace_id,
                                                .traceparent = call->traceparent});
    if (!sampling.takes(place.trace_id, call->failed(),
                        std::chrono::microseconds(call->duration_us)))
        return std::nullopt;
    const auto root = more_parser_.parse(record);  // views of `call` go on
    const auto started = json::parse_rfc3339(call->time);
    if (!root || !started) return std::nullopt;
    const More more = more_of(root->element());
    CallSpans spans;
    SpanWriter writer(spans, place.trace_id, to_unix_ms(*started) * 1'000'000);
    write_root(writer, *call, more, place);
    write_stages(writer, *call, more, place);
    return spans;
}

std::optional<CallSpans> turn_spans(const agent::TracedTurn& turn, const SpanSampling& sampling) {
    if (!sampling.takes(turn.trace_id, !turn.error.empty(), turn.took)) return std::nullopt;
    CallSpans spans;
    SpanWriter writer(spans, turn.trace_id, to_unix_ms(turn.started) * 1'000'000);
    writer.begin(turn.span_id, turn.parent_id, fmt::format("{} {}", kInvoke, turn.agent),
                 Kind::kInternal, 0, micros(turn.took));
    writer.attribute(kOperation, kInvoke);
    writer.attribute(kAgent, turn.agent);
    writer.attribute(kConversation, turn.session_id);
    writer.attribute(kErrorType, turn.error);
    writer.attribute(kPrincipal, turn.principal);
    writer.attribute(kCameBy, turn.front);
    writer.attribute(kTraceId, turn.turn_id);
    writer.end(turn.error);
    for (const auto& made : turn.requests) write_request(writer, turn, made);
    return spans;
}

std::string otlp_request(std::span<const CallSpans> calls, std::string_view service,
                         std::string_view version) {
    std::string body = R"({"resourceSpans":[{"resource":{"attributes":[)";
    body += R"({"key":"service.name","value":{"stringValue":)";
    json::Writer(body).string(service);
    body += R"(}},{"key":"service.version","value":{"stringValue":)";
    json::Writer(body).string(version);
    body += R"(}}]},"scopeSpans":[{"scope":{"name":"crab"},"spans":[)";
    bool first = true;
    for (const CallSpans& each : calls) {
        if (!std::exchange(first, false)) body += ',';
        body += each.json;
    }
    return body + "]}]}]}";
}

}  // namespace crab::gateway
