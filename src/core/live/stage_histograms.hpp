#pragma once

#include "core/audit/metrics.hpp"
#include "core/live/finished_call.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace crab::core {

/// How long calls spent in each stage, for `/metrics`. Not thread-safe.
class StageHistograms {
public:
    /// Counts a call that stands for `weight` calls.
    void add(const FinishedCall& call, std::uint64_t weight);
    /// `crab_call_stage_seconds{stage}`, of stages that calls have reached.
    void append_metrics(std::string& out) const;

private:
    struct Histogram {
        std::array<std::uint64_t, CallMetrics::kBounds.size() + 1> counts{};
        double seconds = 0;
    };
    std::array<Histogram, kStages> stages_{};
};

}  // namespace crab::core
