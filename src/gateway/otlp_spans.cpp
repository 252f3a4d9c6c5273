#include "gateway/otlp_spans.hpp"

#include "base/duration_text.hpp"
#include "core/call/timeline.hpp"
#include "core/call/traceparent.hpp"
#include "core/live/finished_call.hpp"
#include "crypto/digest.hpp"
#include "json/element.hpp"
#include "json/schema/rfc3339.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <charconv>
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
constexpr std::string_view kExecute = "execute_tool";

/// What the record says beside FinishedCall.
struct More {
    std::string_view approval;
    std::int64_t attempts = 0, last_attempt_us = 0;
};

More more_of(json::Element record) {
    More more;
    if (const auto approval = json::get(record, "approval"))
        more.approval = json::get_string(*approval, "state").value_or("");
    json::Array attempts;
    if (const auto made = json::get(record, "attempts");
        made && made->get(attempts) == simdjson::SUCCESS) {
        for (const json::Element attempt : attempts) {
            ++more.attempts;
            more.last_attempt_us = json::get_int64(attempt, "us").value_or(0);
        }
    }
    return more;
}

/// Where a call stands in which trace.
struct Place {
    std::string trace_id, span_id;
    std::string_view parent;  ///< empty: it is the root
    std::string_view foreign;  ///< a trace id of the caller's that cannot be one here
};

Place place_of(const core::FinishedCall& call) {
    Place place{.trace_id = {},
                .span_id = crypto::sha256_hex(fmt::format("call {}", call.call_id)).substr(0, 16),
                .parent = {},
                .foreign = {}};
    if (const auto parent = core::parse_traceparent(call.traceparent)) {
        place.trace_id = parent->trace_id;
        place.parent = parent->span_id;
    } else if (core::is_trace_id(call.trace_id)) {
        place.trace_id = call.trace_id;
    } else {
        const std::string_view of = call.trace_id.empty() ? call.call_id : call.trace_id;
        place.trace_id = crypto::sha256_hex(of).substr(0, 32);
        place.foreign = call.trace_id;
    }
    return place;
}

/// The same for all calls of a trace, so that one is exported whole or not at all.
bool is_in_share(std::string_view trace_id, double share) {
    std::uint64_t low = 0;
    std::from_chars(trace_id.data() + 18, trace_id.data() + 32, low, 16);  // 56 bits
    return static_cast<double>(low) < share * static_cast<double>(std::uint64_t{1} << 56);
}

class SpanWriter {
public:
    SpanWriter(CallSpans& spans, const Place& place, std::int64_t started_ns)
        : spans_(spans), place_(place), started_ns_(started_ns) {}

    /// From the begin of a span to its attributes; end() has to follow.
    void begin(std::string_view id, std::string_view parent, std::string_view name, Kind kind,
               std::int64_t from_us, std::int64_t to_us) {
        writer_.begin_object().key("traceId").string(place_.trace_id).key("spanId").string(id);
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
    const Place& place_;
    const std::int64_t started_ns_;
    json::Writer writer_{spans_.json};
};

void write_root(SpanWriter& spans, const core::FinishedCall& call, const More& more,
                const Place& place) {
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
    if (more.attempts > 0) spans.attribute(kAttempts, more.attempts);
    spans.end(error);
}

/// A span for each stage, and under `answered` the attempt that ended there.
void write_stages(SpanWriter& spans, const core::FinishedCall& call, const More& more,
                  const Place& place) {
    const auto id_of = [&](std::string_view part) {
        return crypto::sha256_hex(fmt::format("{} {}", call.call_id, part)).substr(0, 16);
    };
    std::int64_t at = 0;
    for (std::size_t i = 1; i < core::kStages; ++i) {
        if (call.stage_us[i] < 0) continue;
        const auto stage = static_cast<core::Stage>(i);
        const std::int64_t end = at + call.stage_us[i];
        const std::string id = id_of(name_of(stage));
        spans.begin(id, place.span_id, name_of(stage), Kind::kInternal, at, end);
        spans.end();
        if (stage == core::Stage::kAnswered && more.attempts > 0) {
            spans.begin(id_of("attempt"), id, call.source, Kind::kClient,
                        std::max<std::int64_t>(at, end - more.last_attempt_us), end);
            spans.attribute(kTool, call.tool);
            spans.end();
        }
        at = end;
    }
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

std::optional<CallSpans> OtlpSpans::of(std::string_view record, const SpanSampling& sampling) {
    const auto call = core::parse_finished_call(record, parser_);
    if (!call) return std::nullopt;
    const Place place = place_of(*call);
    const bool slow =
        sampling.slow && call->duration_us >= std::chrono::microseconds(*sampling.slow).count();
    if (!slow && !(sampling.errors && call->failed()) &&
        !is_in_share(place.trace_id, sampling.share))
        return std::nullopt;
    const auto root = more_parser_.parse(record);  // views of `call` go on
    const auto started = json::parse_rfc3339(call->time);
    if (!root || !started) return std::nullopt;
    const More more = more_of(root->element());
    CallSpans spans;
    SpanWriter writer(spans, place, to_unix_ms(*started) * 1'000'000);
    write_root(writer, *call, more, place);
    write_stages(writer, *call, more, place);
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
