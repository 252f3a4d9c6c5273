#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"
#include "base/result.hpp"
#include "core/principal.hpp"
#include "core/tool.hpp"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace crab::core {

/// At most `per_second` calls a second on average, `burst` at once, by each principal that fits, over all tools that fit.
struct RateRule {
    Glob principal, tool;   ///< unset: any
    double per_second = 0;
    double burst = 1;
};

/// Token buckets, counted per principal at admission, so that neither parallel calls nor a reconnect outrun them.
/// Thread-safe; costs nothing without rules.
class RateLimits {
public:
    explicit RateLimits(std::vector<RateRule> rules) : rules_(std::move(rules)) {}

    /// Takes one call from every bucket that applies, or from none. Errors: kRateLimited with retry_after.
    Result<void> take(const Principal& principal, const Tool& tool, SteadyTime now);

private:
    struct Bucket {
        double tokens = 0;
        SteadyTime filled;
    };
    std::vector<RateRule> rules_;
    std::mutex mutex_;
    std::map<std::string, Bucket, std::less<>> buckets_;  ///< by rule and principal; idle ones are dropped
    std::size_t takes_ = 0;
};

}  // namespace crab::core
