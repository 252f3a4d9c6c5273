#include "core/policy/rate_limits.hpp"

#include "base/hash.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::size_t kFirstSweep = 1024;   // buckets
// at the bound, where every newcomer would like one
constexpr std::chrono::seconds kBetweenSweeps{1};

double seconds(SteadyTime::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

struct RateLimits::Bucket {
    double tokens = 0;
    SteadyTime filled;

    double at(const RateRule& rule, SteadyTime now) const {
        return std::min(rule.burst,
                        tokens + seconds(std::max(now, filled) - filled) * rule.per_second);
    }
};

/// Those of one rule, by principal.
struct RateLimits::Buckets {
    std::unordered_map<std::string, Bucket, TextHash, std::equal_to<>> own;
    std::optional<Bucket> shared;   ///< of those for whom there was no room
    std::size_t sweep_at = kFirstSweep;
    SteadyTime swept;

    Bucket& of(const std::string& principal, const RateRule& rule, SteadyTime now) {
        if (const auto known = own.find(principal); known != own.end()) return known->second;
        if (own.size() >= sweep_at && (own.size() < kMostBuckets || now >= swept + kBetweenSweeps))
            sweep(rule, now);
        const Bucket full{.tokens = rule.burst, .filled = now};
        if (own.size() < kMostBuckets) return own.emplace(principal, full).first->second;
        return shared ? *shared : shared.emplace(full);
    }
    /// Null: of() would make a full one.
    const Bucket* find(const std::string& principal) const {
        if (const auto known = own.find(principal); known != own.end()) return &known->second;
        return own.size() >= kMostBuckets && shared ? &*shared : nullptr;
    }
    void sweep(const RateRule& rule, SteadyTime now) {
        std::erase_if(own,
                      [&](const auto& entry) { return entry.second.at(rule, now) >= rule.burst; });
        sweep_at = std::clamp(own.size() * 2, kFirstSweep, kMostBuckets);
        swept = now;
    }
};

RateLimits::RateLimits(std::vector<RateRule> rules, const RateLimits* before)
    : mutex_(before != nullptr ? before->mutex_ : std::make_shared<std::mutex>()) {
    std::vector<Counted> earlier = before != nullptr ? before->rules_ : std::vector<Counted>();
    for (RateRule& rule : rules) {
        const auto same = std::ranges::find_if(
            earlier, [&](const Counted& each) { return each.buckets && each.rule == rule; });
        auto buckets = same != earlier.end() ? std::exchange(same->buckets, nullptr)
                                             : std::make_shared<Buckets>();
        rules_.push_back({.rule = std::move(rule), .buckets = std::move(buckets)});
    }
}

bool RateLimits::Counted::is_about(const Principal& principal, const Tool& tool) const {
    if (!rule.principal.empty() && !rule.principal.matches(principal.id)) return false;
    return rule.tool.empty() || rule.tool.matches(tool.spec.name) ||
           rule.tool.matches(tool.unique_name);
}

Result<void> RateLimits::take(const Principal& principal, const Tool& tool, SteadyTime now) {
    if (rules_.empty()) return {};
    std::vector<Bucket*> taken;
    const std::scoped_lock lock(*mutex_);
    for (const Counted& counted : rules_) {
        if (!counted.is_about(principal, tool)) continue;
        const RateRule& rule = counted.rule;
        Bucket& bucket = counted.buckets->of(principal.id, rule, now);
        bucket.tokens = bucket.at(rule, now);
        bucket.filled = std::max(bucket.filled, now);
        if (bucket.tokens < 1) {
            for (Bucket* other : taken) other->tokens += 1;
            const double wait = rule.per_second > 0 ? (1 - bucket.tokens) / rule.per_second : 3600;
            return fail(Error{
                .code = ErrorCode::kRateLimited,
                .message = fmt::format("more than {} calls a second by {}; wait and call again",
                                       rule.per_second, principal.id),
                .details = {},
                .retryable = true,
                .retry_after = Milliseconds(static_cast<std::int64_t>(std::ceil(wait * 1000)))});
        }
        bucket.tokens -= 1;
        taken.push_back(&bucket);
    }
    return {};
}

std::optional<double> RateLimits::left(const Principal& principal, const Tool& tool,
                                       SteadyTime now) const {
    std::optional<double> least;
    const std::scoped_lock lock(*mutex_);
    for (const Counted& counted : rules_) {
        if (!counted.is_about(principal, tool)) continue;
        const Bucket* const bucket = counted.buckets->find(principal.id);
        const double tokens =
            bucket == nullptr ? counted.rule.burst : bucket->at(counted.rule, now);
        least = std::min(least.value_or(tokens), tokens);
    }
    return least;
}

std::size_t RateLimits::buckets() const {
    const std::scoped_lock lock(*mutex_);
    std::size_t count = 0;
    for (const Counted& each : rules_) count += each.buckets->own.size();
    return count;
}

}  // namespace crab::core
