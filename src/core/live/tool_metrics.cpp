#include "core/live/tool_metrics.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::string_view kOtherTools = "other";
constexpr std::string_view kCounts = "crab_tool_calls_total";
constexpr std::string_view kDurations = "crab_tool_call_duration_seconds";

std::string label_of(std::string_view tool) {
    std::string made;
    for (const char c : tool) {
        if (c == '"' || c == '\\') made += '\\';
        if (c == '\n')
            made += "\\n";
        else
            made += c;
    }
    return made;
}

}  // namespace

void ToolMetrics::want(std::vector<Glob> tools) {
    wanted_ = std::move(tools);
    std::erase_if(rows_, [this](const auto& row) { return !is_wanted(row.first); });
    if (wanted_.empty()) others_ = {};
}

bool ToolMetrics::is_wanted(std::string_view tool) const {
    return std::ranges::any_of(wanted_, [&](const Glob& glob) { return glob.matches(tool); });
}

ToolMetrics::Row& ToolMetrics::row_of(const FinishedCall& call) {
    if (const auto known = rows_.find(call.tool); known != rows_.end()) return known->second;
    // A name without a source is whatever the caller wrote: it may not become a label. A tool that
    // is called as the row of the others is with them.
    if (call.source.empty() || call.tool == kOtherTools || rows_.size() >= kMost ||
        !is_wanted(call.tool))
        return others_;
    return rows_[std::string(call.tool)];
}

void ToolMetrics::add(const FinishedCall& call, std::uint64_t weight) {
    if (wanted_.empty()) return;
    Row& row = row_of(call);
    const double seconds = static_cast<double>(call.duration_us) / 1e6;
    const auto bound =
        std::ranges::lower_bound(CallMetrics::kBounds, seconds) - CallMetrics::kBounds.begin();
    row.by_status[static_cast<std::size_t>(call.status)] += weight;
    row.by_duration[static_cast<std::size_t>(bound)] += weight;
    row.seconds += seconds * static_cast<double>(weight);
}

void ToolMetrics::append_metrics(std::string& out) const {
    if (wanted_.empty()) return;
    std::map<std::string, const Row*> rows;
    for (const auto& [tool, row] : rows_) rows.emplace(label_of(tool), &row);
    rows.emplace(kOtherTools, &others_);
    const auto line = std::back_inserter(out);
    fmt::format_to(line,
                   "# HELP {0} Calls that have ended, of the tools in metrics.tools and of all "
                   "others.\n# TYPE {0} counter\n",
                   kCounts);
    for (const auto& [tool, row] : rows)
        for (std::size_t i = 0; i < kCallStatuses; ++i)
            if (row->by_status[i] > 0)
                fmt::format_to(line, "{}{{tool=\"{}\",status=\"{}\"}} {}\n", kCounts, tool,
                               name_of(static_cast<Status>(i)), row->by_status[i]);
    fmt::format_to(line,
                   "# HELP {0} From arrival to answer, by tool; above 10000 calls a second an "
                   "estimate.\n# TYPE {0} histogram\n",
                   kDurations);
    for (const auto& [tool, row] : rows) {
        const auto& counts = row->by_duration;
        const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
        if (total == 0) continue;
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < CallMetrics::kBounds.size(); ++i) {
            below += counts[i];
            fmt::format_to(line, "{}_bucket{{tool=\"{}\",le=\"{:#}\"}} {}\n", kDurations, tool,
                           CallMetrics::kBounds[i], below);
        }
        fmt::format_to(line, "{0}_bucket{{tool=\"{1}\",le=\"+Inf\"}} {2}\n", kDurations, tool,
                       total);
        fmt::format_to(line, "{0}_sum{{tool=\"{1}\"}} {2}\n{0}_count{{tool=\"{1}\"}} {3}\n",
                       kDurations, tool, row->seconds, total);
    }
}

}  // namespace crab::core
