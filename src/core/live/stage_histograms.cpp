#include "core/live/stage_histograms.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

namespace crab::core {

void StageHistograms::add(const FinishedCall& call, std::uint64_t weight) {
    for (std::size_t i = 1; i < kStages; ++i) {
        if (call.stage_us[i] < 0) continue;
        const double seconds = static_cast<double>(call.stage_us[i]) / 1e6;
        const auto bound =
            std::ranges::lower_bound(CallMetrics::kBounds, seconds) - CallMetrics::kBounds.begin();
        stages_[i].counts[static_cast<std::size_t>(bound)] += weight;
        stages_[i].seconds += seconds * static_cast<double>(weight);
    }
}

void StageHistograms::append_metrics(std::string& out) const {
    constexpr std::string_view kName = "crab_call_stage_seconds";
    const auto line = std::back_inserter(out);
    fmt::format_to(line,
                   "# HELP {0} From the stage before to this one; above 10000 calls a second an "
                   "estimate.\n# TYPE {0} histogram\n",
                   kName);
    for (std::size_t stage = 1; stage < kStages; ++stage) {
        const Histogram& histogram = stages_[stage];
        const auto total =
            std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::uint64_t{0});
        if (total == 0) continue;
        const std::string_view label = name_of(static_cast<Stage>(stage));
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < CallMetrics::kBounds.size(); ++i) {
            below += histogram.counts[i];
            fmt::format_to(line, "{}_bucket{{stage=\"{}\",le=\"{:#}\"}} {}\n", kName, label,
                           CallMetrics::kBounds[i], below);
        }
        fmt::format_to(line, "{0}_bucket{{stage=\"{1}\",le=\"+Inf\"}} {2}\n", kName, label, total);
        fmt::format_to(line, "{0}_sum{{stage=\"{1}\"}} {2}\n{0}_count{{stage=\"{1}\"}} {3}\n",
                       kName, label, histogram.seconds, total);
    }
}

}  // namespace crab::core
