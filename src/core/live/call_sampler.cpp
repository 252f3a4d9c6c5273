#include "core/live/call_sampler.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace crab::core {
namespace {

/// A store that is slow for a moment hands over several seconds at once.
constexpr double kBurstSeconds = 5;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  ///< of failures that wait
constexpr std::size_t kLongestRow = std::size_t{16} << 10;

}  // namespace

CallSampler::CallSampler(CallFilter filter, std::size_t rate, SteadyTime now)
    : filter_(std::move(filter)),
      rate_(std::min(rate, kMostRate)),
      failures_allowed_(kBurstSeconds *
                        static_cast<double>(rate_ == 0 ? 0 : std::max(rate_, kLeastFailures))),
      filled_(now) {}

std::uint64_t CallSampler::below(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
}

void CallSampler::begin_batch(SteadyTime now) {
    if (rate_ == 0) return;
    const auto per_second = static_cast<double>(std::max(rate_, kLeastFailures));
    const double passed = std::chrono::duration<double>(now - filled_).count();
    failures_allowed_ = std::min(kBurstSeconds * per_second,
                                 failures_allowed_ + std::max(0.0, passed) * per_second);
    filled_ = std::max(filled_, now);
}

void CallSampler::offer(const FinishedCall& call) {
    if (!filter_.matches(call)) return;
    ++offered_;
    ++by_status_[static_cast<std::size_t>(call.status)];
    latency_.add(call.duration_us);
    if (rate_ == 0 || call.record.size() > kLongestRow) return;
    call.failed() ? offer_failure(call) : offer_other(call);
}

void CallSampler::offer_failure(const FinishedCall& call) {
    if (failures_allowed_ < 1 || bytes_ + call.record.size() > kMostBytes) return;
    --failures_allowed_;
    bytes_ += call.record.size();
    failures_.push_back({.number = offered_, .record = std::string(call.record)});
}

/// Vitter's algorithm R: the n-th call takes the place of one of k with the chance k/n.
void CallSampler::offer_other(const FinishedCall& call) {
    const std::size_t room = (rate_ + kTakesPerSecond - 1) / kTakesPerSecond;
    ++others_;
    if (reservoir_.size() < room) {
        reservoir_.push_back({.number = offered_, .record = std::string(call.record)});
    } else if (const std::uint64_t place = below(others_); place < room) {
        reservoir_[place] = {.number = offered_, .record = std::string(call.record)};
    }
}

CallSampler::Taken CallSampler::take() {
    Taken taken{.total = offered_,
                .by_status = by_status_,
                .p50_us = latency_.percentile(0.5),
                .p99_us = latency_.percentile(0.99)};
    // Failures take places of others.
    const std::size_t room = (rate_ + kTakesPerSecond - 1) / kTakesPerSecond;
    const std::size_t kept = room - std::min(room, failures_.size());
    std::ranges::shuffle(reservoir_, random_);
    if (reservoir_.size() > kept)
        reservoir_.erase(reservoir_.begin() + static_cast<std::ptrdiff_t>(kept), reservoir_.end());
    std::ranges::move(reservoir_, std::back_inserter(failures_));
    std::ranges::sort(failures_, {}, &Row::number);
    for (Row& row : failures_) taken.rows.push_back(std::move(row.record));
    taken.left_out = offered_ - taken.rows.size();
    failures_.clear();
    reservoir_.clear();
    latency_.clear();
    by_status_ = {};
    offered_ = others_ = 0;
    bytes_ = 0;
    return taken;
}

}  // namespace crab::core
