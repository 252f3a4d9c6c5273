#include "core/live/call_stats.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace crab::core {
namespace {

constexpr std::string_view kOther = "other";
constexpr std::size_t kLongestKey = 256;

std::int64_t minute_of(SteadyTime time) {
    return std::chrono::floor<std::chrono::minutes>(time.time_since_epoch()).count();
}

/// Names that callers made up are none of a tool.
std::string_view tool_of(const FinishedCall& call) {
    return call.source.empty() ? std::string_view("(no such tool)") : call.tool;
}
std::string_view source_of(const FinishedCall& call) {
    return call.source.empty() ? std::string_view("(none)") : call.source;
}

}  // namespace

std::optional<CallStats::By> CallStats::find_by(std::string_view name) {
    if (name == "tool") return By::kTool;
    if (name == "principal") return By::kPrincipal;
    if (name == "source") return By::kSource;
    return std::nullopt;
}

void CallStats::Totals::add(const FinishedCall& call, std::uint64_t weight) {
    calls += weight;
    if (call.failed()) errors += weight;
    latency.add(call.duration_us, weight);
    for (std::size_t i = 0; i < kStages; ++i) {
        if (call.stage_us[i] < 0) continue;
        passed.set(i);
        stage_us[i] += static_cast<double>(call.stage_us[i]) * static_cast<double>(weight);
    }
    if (call.duration_us <= slowest_us) return;
    slowest_us = call.duration_us;
    slowest = call.call_id;
}

void CallStats::Totals::add(const Totals& other) {
    calls += other.calls;
    errors += other.errors;
    latency.add(other.latency);
    for (std::size_t i = 0; i < kStages; ++i) stage_us[i] += other.stage_us[i];
    passed |= other.passed;
    if (other.slowest_us <= slowest_us) return;
    slowest_us = other.slowest_us;
    slowest = other.slowest;
}

CallStats::Totals& CallStats::at(Ring& ring, std::int64_t minute) {
    // Batches may come out of order, by seconds: those of the minute before count in this one.
    if (ring.empty() || ring.back().number < minute)
        ring.push_back({.number = minute, .totals = {}});
    return ring.back().totals;
}

CallStats::Ring& CallStats::ring_of(Rings& rings, std::string_view key) {
    key = key.substr(0, kLongestKey);
    if (const auto known = rings.find(key); known != rings.end()) return known->second;
    // The last place is that of the others.
    const bool fits = rings.size() < kMostKeys + (rings.contains(kOther) ? 1 : 0);
    return rings[std::string(fits ? key : kOther)];
}

void CallStats::add(const FinishedCall& call, std::uint64_t weight, SteadyTime now) {
    const std::int64_t minute = minute_of(now);
    if (minute > swept_) forget_before(minute - kMinutes + 1);
    swept_ = std::max(swept_, minute);
    at(all_, minute).add(call, weight);
    const std::array keys{tool_of(call), call.principal, source_of(call)};
    for (std::size_t i = 0; i < keys.size(); ++i)
        at(ring_of(keys_[i], keys[i]), minute).add(call, weight);
}

void CallStats::forget_before(std::int64_t minute) {
    const auto drop = [minute](Ring& ring) {
        while (!ring.empty() && ring.front().number < minute) ring.pop_front();
        return ring.empty();
    };
    drop(all_);
    for (Rings& rings : keys_)
        for (auto each = rings.begin(); each != rings.end();)
            each = drop(each->second) ? rings.erase(each) : std::next(each);
}

std::vector<CallStats::Row> CallStats::rows(By by, std::int64_t minutes, SteadyTime now) const {
    const std::int64_t first = minute_of(now) - std::clamp<std::int64_t>(minutes, 1, kMinutes) + 1;
    std::vector<Row> found;
    for (const auto& [key, ring] : keys_[static_cast<std::size_t>(by)]) {
        Row row{.key = key, .totals = {}};
        for (const Minute& minute : ring)
            if (minute.number >= first) row.totals.add(minute.totals);
        if (row.totals.calls > 0) found.push_back(std::move(row));
    }
    std::ranges::sort(found, [](const Row& a, const Row& b) {
        return a.totals.calls != b.totals.calls ? a.totals.calls > b.totals.calls : a.key < b.key;
    });
    return found;
}

void CallStats::for_minutes(std::int64_t minutes, SteadyTime now,
                            const std::function<void(std::int64_t, const Totals&)>& take) const {
    const std::int64_t last = minute_of(now);
    const std::int64_t first = last - std::clamp<std::int64_t>(minutes, 1, kMinutes) + 1;
    for (const Minute& minute : all_)
        if (minute.number >= first) take(last - minute.number, minute.totals);
}

}  // namespace crab::core
