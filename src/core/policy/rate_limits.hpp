#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"
#include "base/result.hpp"
#include "core/call/principal.hpp"
#include "core/call/tool.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace crab::core {

/// At most `per_second` calls a second on average, `burst` at once, by each principal that fits,
/// over all tools that fit.
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

/// Token buckets, counted per principal at admission, so that neither parallel calls nor a
/// reconnect outrun them. A bucket is forgotten only when it is full again, when it says nothing.
/// Of each rule at most kMostBuckets are kept: whoever comes beyond them shares one bucket with all
/// others who do, and no bucket is given up for another. Thread-safe; costs nothing without rules.
class RateLimits {
public:
    static constexpr std::size_t kMostBuckets = 65'536;

    /// A rule that was in force in `before` as well goes on with its buckets, shared with calls
    /// that still use those. `before` may be null.
    explicit RateLimits(std::vector<RateRule> rules, const RateLimits* before = nullptr);

    /// Takes one call from every bucket that applies, or from none. Errors: kRateLimited with
    /// retry_after.
    Result<void> take(const Principal& principal, const Tool& tool, SteadyTime now);
    /// How many buckets are kept.
    std::size_t buckets() const;

private:
    struct Bucket;
    struct Buckets;
    struct Counted {
        RateRule rule;
        std::shared_ptr<Buckets> buckets;
    };
    std::shared_ptr<std::mutex> mutex_;  ///< of all buckets, shared as they are
    std::vector<Counted> rules_;
};

}  // namespace crab::core
