#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"
#include "base/result.hpp"
#include "core/call/principal.hpp"
#include "core/call/tool.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace crab::core {

/// At most `per_second` calls a second on average with bursts of `burst`, per matching principal,
/// over all matching tools.
struct RateRule {
    Glob principal, tool;   ///< unset: any
    double per_second = 0;
    double burst = 1;

    friend bool operator==(const RateRule& left, const RateRule& right) {
        return left.principal.pattern() == right.principal.pattern() &&
               left.tool.pattern() == right.tool.pattern() && left.per_second == right.per_second &&
               left.burst == right.burst;
    }
};

/// Token buckets per principal, taken at admission, so that neither parallel calls nor a reconnect
/// evade them. A bucket is dropped only when it is full. At most kMostBuckets per rule: further
/// principals share one bucket. Thread-safe; no cost without rules.
class RateLimits {
public:
    static constexpr std::size_t kMostBuckets = 65'536;

    /// Rules that are unchanged from `before`, which may be null, keep their buckets.
    explicit RateLimits(std::vector<RateRule> rules, const RateLimits* before = nullptr);

    /// Takes one call from every bucket that applies, or from none. Errors: kRateLimited with
    /// retry_after.
    Result<void> take(const Principal& principal, const Tool& tool, SteadyTime now);
    /// How many calls take() would let through at once now; nothing: no rule is about them. Takes
    /// nothing.
    std::optional<double> left(const Principal& principal, const Tool& tool, SteadyTime now) const;
    /// How many buckets are kept.
    std::size_t buckets() const;

private:
    struct Bucket;
    struct Buckets;
    struct Counted {
        RateRule rule;
        std::shared_ptr<Buckets> buckets;

        bool is_about(const Principal& principal, const Tool& tool) const;
    };
    std::shared_ptr<std::mutex> mutex_;  ///< guards all buckets and is shared like them
    std::vector<Counted> rules_;
};

}  // namespace crab::core
