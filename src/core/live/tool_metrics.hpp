#pragma once

#include "base/glob.hpp"
#include "base/hash.hpp"
#include "core/audit/metrics.hpp"
#include "core/live/finished_call.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace crab::core {

/// Calls of the tools that the operator wants to see by name, and of all others together. Their
/// number is bounded, since each name is a dozen series. Not thread-safe.
class ToolMetrics {
public:
    static constexpr std::size_t kMost = 200;  ///< tools; what comes later is with the others

    /// Which tools; none: nothing is counted. What was counted of tools that are not wanted any
    /// more is forgotten.
    void want(std::vector<Glob> tools);
    /// Counts a call that stands for `weight` calls.
    void add(const FinishedCall& call, std::uint64_t weight);
    /// `crab_tool_calls_total{tool,status}` and `crab_tool_call_duration_seconds{tool}`.
    void append_metrics(std::string& out) const;

private:
    struct Row {
        std::array<std::uint64_t, kCallStatuses> by_status{};
        std::array<std::uint64_t, CallMetrics::kBounds.size() + 1> by_duration{};
        double seconds = 0;
    };
    bool is_wanted(std::string_view tool) const;
    Row& row_of(const FinishedCall& call);

    std::vector<Glob> wanted_;
    std::unordered_map<std::string, Row, TextHash, std::equal_to<>> rows_;
    Row others_;
};

}  // namespace crab::core
