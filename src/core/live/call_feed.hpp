#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "core/audit/audit_observer.hpp"
#include "core/live/call_sampler.hpp"
#include "core/live/call_stats.hpp"
#include "core/live/latest_traces.hpp"
#include "core/live/stage_histograms.hpp"
#include "core/live/tool_metrics.hpp"
#include "json/parser.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// One watcher of ended calls. Owned by whoever watches; thread-safe.
class CallWatch {
public:
    CallWatch(CallFilter filter, std::size_t rate, SteadyTime now)
        : sampler_(std::move(filter), rate, now) {}
    /// What has ended since the last take(); see CallSampler.
    CallSampler::Taken take() {
        const std::scoped_lock lock(mutex_);
        return sampler_.take();
    }

private:
    friend class CallFeed;
    std::mutex mutex_;
    CallSampler sampler_;
};

/// Calls that have ended, taken from the batches of the audit log: nothing is done while calls run.
/// While somebody watches, every record is read. Otherwise only statistics are kept, for which it
/// reads kReadPerSecond records; of more, one stands for several. Thread-safe.
class CallFeed final : public AuditObserver {
public:
    static constexpr double kReadPerSecond = 10'000;

    /// `is_kept` says of which calls a trace can be opened; none: there are no exemplars.
    explicit CallFeed(const Clock& clock, LatestTraces::IsKept is_kept = {})
        : clock_(clock), filled_(clock.steady_now()), traces_(std::move(is_kept)) {}

    /// See ToolMetrics.
    void want_by_name(std::vector<Glob> tools);

    /// Shows calls to the watch until it is destroyed.
    void add(const std::shared_ptr<CallWatch>& watch);
    void on_batch(const AuditBatch& batch) override;

    std::vector<CallStats::Row> rows(CallStats::By by, std::int64_t minutes) const;
    /// See CallStats::for_minutes(); `take` is called with the feed locked.
    void for_minutes(std::int64_t minutes,
                     const std::function<void(std::int64_t, const CallStats::Totals&)>& take) const;
    /// Appends `crab_call_stage_seconds`, and the metrics of tools.
    void append_metrics(std::string& out) const;
    CallExemplars exemplars() const;

private:
    using Watches = std::vector<std::shared_ptr<CallWatch>>;
    Watches open_watches();
    std::size_t stride_of(std::size_t records);
    void read(std::string_view record, std::size_t weight, const Watches& watches);

    const Clock& clock_;
    OrderedMutex<LockRank::kCallFeed> reading_;  ///< one batch at a time
    json::Parser parser_;  ///< under reading_, as the next three
    double allowed_ = kReadPerSecond;  ///< records to be read while nobody watches
    SteadyTime filled_;
    std::size_t skipped_ = 0;  ///< records since the last that was read
    mutable std::mutex mutex_;  ///< of what follows
    std::vector<std::weak_ptr<CallWatch>> watches_;
    CallStats stats_;
    StageHistograms stages_;
    ToolMetrics tools_;
    LatestTraces traces_;
};

}  // namespace crab::core
