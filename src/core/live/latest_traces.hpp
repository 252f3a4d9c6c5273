#pragma once

#include "base/clock.hpp"
#include "core/audit/metrics.hpp"
#include "core/live/finished_call.hpp"

#include <array>
#include <functional>
#include <string_view>

namespace crab::core {

/// The latest call of every bucket of durations whose trace somebody can open. Of a bucket one is
/// taken a second, and at most a hundred are looked at. Not thread-safe.
class LatestTraces {
public:
    /// Whether a call's trace, of this id, is kept somewhere; asked from any thread.
    using IsKept = std::function<bool(const FinishedCall&, std::string_view trace_id)>;

    explicit LatestTraces(IsKept is_kept) : is_kept_(std::move(is_kept)) {}

    void add(const FinishedCall& call, const Clock& clock);
    const CallExemplars& exemplars() const { return latest_; }

private:
    const IsKept is_kept_;
    CallExemplars latest_;
    /// When the next one of a bucket is looked at
    std::array<std::array<SteadyTime, CallMetrics::kBounds.size() + 1>, CallMetrics::kSources>
        next_{};
};

}  // namespace crab::core
