#pragma once

#include <optional>
#include <string_view>

namespace crab::core {

/// What a `traceparent` names; views into its text.
struct TraceParent {
    std::string_view trace_id;  ///< 32 lower-case hexadecimal digits, not all 0
    std::string_view span_id;   ///< 16, not all 0
};

/// Reads version 00; nothing for a malformed one, which is to be ignored. Source: W3C Trace
/// Context, section 3.2.
std::optional<TraceParent> parse_traceparent(std::string_view text);
/// Whether `text` is a trace id of that form.
bool is_trace_id(std::string_view text);

}  // namespace crab::core
