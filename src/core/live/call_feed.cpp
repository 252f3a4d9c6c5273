#include "core/live/call_feed.hpp"

#include <algorithm>
#include <cmath>

namespace crab::core {

void CallFeed::add(const std::shared_ptr<CallWatch>& watch) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(watches_, [](const auto& each) { return each.expired(); });
    watches_.push_back(watch);
}

CallFeed::Watches CallFeed::open_watches() {
    const std::scoped_lock lock(mutex_);
    Watches open;
    for (const auto& each : watches_)
        if (auto watch = each.lock()) open.push_back(std::move(watch));
    return open;
}

/// Of how many records one is read, if nobody watches.
std::size_t CallFeed::stride_of(std::size_t records) {
    const SteadyTime now = clock_.steady_now();
    const double passed = std::chrono::duration<double>(now - filled_).count();
    filled_ = now;
    allowed_ = std::min(kReadPerSecond, allowed_ + passed * kReadPerSecond);
    const auto wanted = static_cast<double>(records);
    if (wanted <= allowed_) {
        allowed_ -= wanted;
        return 1;
    }
    // A tenth is always read, so that a burst does not go by unseen.
    const double read = std::max(allowed_, wanted / 10);
    allowed_ = 0;
    return static_cast<std::size_t>(std::ceil(wanted / read));
}

void CallFeed::on_batch(const AuditBatch& batch) {
    const std::scoped_lock reading(reading_);
    const Watches watches = open_watches();
    const std::size_t stride = watches.empty() ? stride_of(batch.count) : 1;
    for (const auto& watch : watches) {
        const std::scoped_lock lock(watch->mutex_);
        watch->sampler_.begin_batch(clock_.steady_now());
    }
    for (std::string_view rest = batch.records; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        if (++skipped_ >= stride) {
            skipped_ = 0;
            read(rest.substr(0, end), stride, watches);
        }
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    parser_.shrink();
}

void CallFeed::read(std::string_view record, std::size_t weight, const Watches& watches) {
    const auto call = parse_finished_call(record, parser_);
    if (!call) return;
    {
        const std::scoped_lock lock(mutex_);
        stats_.add(*call, weight, clock_.steady_now());
        stages_.add(*call, weight);
        tools_.add(*call, weight);
        traces_.add(*call, clock_);
    }
    for (const auto& watch : watches) {
        const std::scoped_lock lock(watch->mutex_);
        watch->sampler_.offer(*call);
    }
}

std::vector<CallStats::Row> CallFeed::rows(CallStats::By by, std::int64_t minutes) const {
    const std::scoped_lock lock(mutex_);
    return stats_.rows(by, minutes, clock_.steady_now());
}

void CallFeed::for_minutes(
    std::int64_t minutes,
    const std::function<void(std::int64_t, const CallStats::Totals&)>& take) const {
    const std::scoped_lock lock(mutex_);
    stats_.for_minutes(minutes, clock_.steady_now(), take);
}

void CallFeed::append_metrics(std::string& out) const {
    const std::scoped_lock lock(mutex_);
    stages_.append_metrics(out);
    tools_.append_metrics(out);
}

CallExemplars CallFeed::exemplars() const {
    const std::scoped_lock lock(mutex_);
    return traces_.exemplars();
}

void CallFeed::want_by_name(std::vector<Glob> tools) {
    const std::scoped_lock lock(mutex_);
    tools_.want(std::move(tools));
}

}  // namespace crab::core
