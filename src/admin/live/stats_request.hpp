#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/live/call_stats.hpp"
#include "json/writer.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace crab::admin {

/// A question about calls of the last minutes, from its query.
struct StatsRequest {
    core::CallStats::By by = core::CallStats::By::kTool;
    std::int64_t minutes = 15;
    std::size_t limit = 200;

    /// `by`, `window`, `limit`. Errors: kInvalidArgs.
    static Result<StatsRequest> parse(std::string_view query);
};

/// The same about each minute.
struct SeriesRequest {
    std::vector<std::string_view> names{};  ///< of literals
    std::int64_t minutes = core::CallStats::kMinutes;

    /// `names`, `window`. Errors: kInvalidArgs.
    static Result<SeriesRequest> parse(std::string_view query);
};

/// All calls, minute by minute.
class CallSeries {
public:
    CallSeries(const SeriesRequest& request, SystemTime now);
    void take(std::int64_t minutes_ago, const core::CallStats::Totals& totals);
    /// `{"t":[…],"series":{NAME:[…]}}`: when each minute began, in seconds since 1970, the oldest
    /// first; percentiles of minutes without calls are null.
    void write(json::Writer& writer) const;

private:
    SeriesRequest request_;
    std::int64_t last_;  ///< the minute that runs, since 1970
    /// By name, then by minute
    std::vector<std::vector<std::optional<std::int64_t>>> values_;
};

}  // namespace crab::admin
