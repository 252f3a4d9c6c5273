#include "core/rate_limits.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::size_t kSweepEvery = 4096;

double seconds(SteadyTime::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

Result<void> RateLimits::take(const Principal& principal, const Tool& tool, SteadyTime now) {
    if (rules_.empty()) return {};
    std::vector<Bucket*> taken;
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        const RateRule& rule = rules_[i];
        if (!rule.principal.empty() && !rule.principal.matches(principal.id)) continue;
        if (!rule.tool.empty() && !rule.tool.matches(tool.spec.name) && !rule.tool.matches(tool.unique_name)) continue;
        const auto [it, fresh] = buckets_.try_emplace(fmt::format("{}/{}", i, principal.id), Bucket{.tokens = rule.burst, .filled = now});
        Bucket& bucket = it->second;
        bucket.tokens = std::min(rule.burst, bucket.tokens + seconds(now - bucket.filled) * rule.per_second);
        bucket.filled = now;
        if (bucket.tokens < 1) {
            for (Bucket* other : taken) other->tokens += 1;
            const double wait = rule.per_second > 0 ? (1 - bucket.tokens) / rule.per_second : 3600;
            return fail(Error{.code = ErrorCode::kRateLimited,
                              .message = fmt::format("more than {} calls a second by {}; wait and call again", rule.per_second, principal.id),
                              .details = {}, .retryable = true, .retry_after = Milliseconds(static_cast<std::int64_t>(std::ceil(wait * 1000)))});
        }
        bucket.tokens -= 1;
        taken.push_back(&bucket);
    }
    if (++takes_ % kSweepEvery == 0) {  // a bucket that is full again says nothing
        std::erase_if(buckets_, [&](const auto& entry) { return now - entry.second.filled > std::chrono::hours(1); });
    }
    return {};
}

}  // namespace crab::core
