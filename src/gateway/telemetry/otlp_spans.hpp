#pragma once

#include "agent/turn_trace.hpp"
#include "base/clock.hpp"
#include "json/parser.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// Which calls are exported: a share of all traces, and beside it those that always are.
struct SpanSampling {
    double share = 0.1;
    bool errors = true;
    std::optional<Milliseconds> slow;  ///< from this duration on

    bool takes(std::string_view trace_id, bool failed, std::chrono::nanoseconds took) const;

    /// Reads the words of `tracing.always`: `errors`, `slow:<duration>`. Nothing for another one.
    static std::optional<SpanSampling> read(double share, std::span<const std::string> always);
};

/// The spans of one call or turn, as members of an OTLP array.
struct CallSpans {
    std::string json;
    std::size_t count = 0;
};

/// Makes spans of audit records: `execute_tool <tool>`, one for each stage, and one for each
/// attempt. No arguments, results or messages. Not thread-safe. Source: the JSON form
/// of OTLP 1.x (ids in hexadecimal, times in nanoseconds as text), and OpenTelemetry's semantic
/// conventions for generative AI, whose names are in one table in the source.
class OtlpSpans {
public:
    /// Nothing for a record of no ended call, and for one that is not sampled.
    std::optional<CallSpans> of(std::string_view record, const SpanSampling& sampling);

private:
    json::Parser parser_, more_parser_;
};

/// The spans of a turn: `invoke_agent <agent>`, and under it `chat <model>` for each request to a
/// model. Nothing for one that is not sampled.
std::optional<CallSpans> turn_spans(const agent::TracedTurn& turn, const SpanSampling& sampling);

/// A request for `/v1/traces`.
std::string otlp_request(std::span<const CallSpans> calls, std::string_view service,
                         std::string_view version);

}  // namespace crab::gateway
