#pragma once

#include "core/call/timeline.hpp"
#include "core/call/tool_result.hpp"
#include "json/parser.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::core {

inline constexpr std::size_t kCallStatuses = 6;  ///< of Status

/// A call that has ended, as its audit record tells it. Views into the record's batch and the
/// parser that read it.
struct FinishedCall {
    std::string_view record;  ///< the whole record, JSON
    std::string_view call_id, time, principal, agent, session, trace_id, traceparent, front, tool;
    std::string_view source;  ///< empty: no such tool
    std::string_view rule;  ///< that decided
    std::string_view code, message;  ///< of a failure
    Status status = Status::kOk;
    std::int64_t duration_us = 0;
    /// Microseconds that each stage took, from the one before it; negative: not reached
    std::array<std::int64_t, kStages> stage_us{};

    bool failed() const { return status != Status::kOk; }
};

/// Reads audit records. Nothing for one that is not about a call that has ended.
std::optional<FinishedCall> parse_finished_call(std::string_view record, json::Parser& parser);

}  // namespace crab::core
