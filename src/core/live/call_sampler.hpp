#pragma once

#include "base/clock.hpp"
#include "core/live/call_filter.hpp"
#include "core/live/finished_call.hpp"
#include "core/live/latency_sketch.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace crab::core {

/// What one watcher is shown of the calls that its filter lets through: all are counted, some are
/// rows. Failures come first: none is left out below kLeastFailures a second. The rest is a sample
/// in which each call has the same chance. Holds a bounded number of rows, however seldom they are
/// taken. Not thread-safe.
class CallSampler {
public:
    static constexpr std::size_t kLeastFailures = 10;  ///< a second, unless no rows are wanted
    static constexpr std::size_t kMostRate = 200;
    static constexpr std::size_t kTakesPerSecond = 4;

    /// `rate`: rows a second, at most kMostRate; 0: only counts.
    CallSampler(CallFilter filter, std::size_t rate, SteadyTime now);

    /// A batch of calls follows, which ended at about `now`.
    void begin_batch(SteadyTime now);
    void offer(const FinishedCall& call);

    /// What was offered since the last take().
    struct Taken {
        std::uint64_t total = 0;
        std::array<std::uint64_t, kCallStatuses> by_status{};
        std::int64_t p50_us = 0, p99_us = 0;
        std::vector<std::string> rows{};  ///< records, in the order in which they were offered
        std::uint64_t left_out = 0;       ///< calls that are no rows
    };
    /// To be called kTakesPerSecond times.
    Taken take();

private:
    struct Row {
        std::uint64_t number = 0;
        std::string record;
    };
    void offer_failure(const FinishedCall& call);
    void offer_other(const FinishedCall& call);
    std::uint64_t below(std::uint64_t limit);

    CallFilter filter_;
    const std::size_t rate_;
    double failures_allowed_;  ///< grows with time
    SteadyTime filled_;
    std::uint64_t offered_ = 0, others_ = 0;
    std::array<std::uint64_t, kCallStatuses> by_status_{};
    LatencySketch latency_;
    std::vector<Row> failures_, reservoir_;
    std::size_t bytes_ = 0;  ///< of the failures
    std::minstd_rand random_;
};

}  // namespace crab::core
