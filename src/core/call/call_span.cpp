#include "core/call/call_span.hpp"

#include "core/call/call.hpp"
#include "core/call/traceparent.hpp"
#include "crypto/digest.hpp"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace crab::core {

bool is_in_share(std::string_view trace_id, double share) {
    std::uint64_t low = 0;
    std::from_chars(trace_id.data() + 18, trace_id.data() + 32, low, 16);  // 56 bits
    return static_cast<double>(low) < share * static_cast<double>(std::uint64_t{1} << 56);
}

std::string span_id_of(std::string_view text) { return crypto::sha256_hex(text).substr(0, 16); }

std::string trace_id_of(std::string_view text) {
    return is_trace_id(text) ? std::string(text) : crypto::sha256_hex(text).substr(0, 32);
}

std::string trace_id_of(const CallNames& call) {
    if (const auto parent = parse_traceparent(call.traceparent))
        return std::string(parent->trace_id);
    return trace_id_of(call.trace_id.empty() ? call.call_id : call.trace_id);
}

CallSpan span_of(const CallNames& call) {
    CallSpan span;
    span.span_id = span_id_of(fmt::format("call {} {}", call.time, call.call_id));
    span.trace_id = trace_id_of(call);
    if (const auto parent = parse_traceparent(call.traceparent)) {
        span.parent = parent->span_id;
        span.flags = call.traceparent.substr(53);
        return span;
    }
    if (span.trace_id != call.trace_id) span.foreign = call.trace_id;
    return span;
}

std::string make_traceparent(std::string_view trace_id, std::string_view span_id,
                             std::string_view flags) {
    return fmt::format("00-{}-{}-{}", trace_id, span_id, flags);
}

std::string own_traceparent(const Call& call, const TraceShare& share) {
    const Rfc3339Text time(call.timeline.started_at());
    const CallSpan span = span_of({.call_id = call.id,
                                   .time = time.view(),
                                   .trace_id = call.context.trace_id,
                                   .traceparent = call.traceparent});
    const std::string_view flags = !span.flags.empty()        ? span.flags
                                   : share.has(span.trace_id) ? "01"
                                                              : "00";
    return make_traceparent(span.trace_id, span.span_id, flags);
}

}  // namespace crab::core
