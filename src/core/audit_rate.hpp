#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::core {

/// How often each principal has its refusals recorded one by one; the rest is counted and told with the next. Thread-safe.
class AuditRate {
public:
    struct Options {
        double burst = 10;
        double per_second = 1;
    };
    AuditRate() : AuditRate(Options{}) {}
    explicit AuditRate(Options options) : options_(options) {}

    /// Whether to record now, and then how many were left out since the last time; nothing: this one is left out.
    std::optional<std::uint64_t> take(std::string_view principal, SteadyTime now) {
        const std::scoped_lock lock(mutex_);
        if (buckets_.size() >= sweep_at_) sweep(now);
        auto found = buckets_.find(principal);
        if (found == buckets_.end()) found = buckets_.emplace(std::string(principal), Bucket{.tokens = options_.burst, .filled = now}).first;
        Bucket& bucket = found->second;
        fill(bucket, now);
        if (bucket.tokens < 1) {
            ++bucket.left_out;
            return std::nullopt;
        }
        bucket.tokens -= 1;
        return std::exchange(bucket.left_out, 0);
    }

private:
    struct Bucket {
        double tokens = 0;
        SteadyTime filled{};
        std::uint64_t left_out = 0;
    };
    void fill(Bucket& bucket, SteadyTime now) const {
        const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
        bucket.tokens = std::min(options_.burst, bucket.tokens + seconds * options_.per_second);
        bucket.filled = now;
    }
    /// Who is full again and owes nothing is as good as new.
    void sweep(SteadyTime now) {
        for (auto& [principal, bucket] : buckets_) fill(bucket, now);
        std::erase_if(buckets_, [&](const auto& entry) { return entry.second.tokens >= options_.burst && entry.second.left_out == 0; });
        sweep_at_ = std::max<std::size_t>(kFirstSweep, 2 * buckets_.size());
    }

    static constexpr std::size_t kFirstSweep = 256;
    const Options options_;
    std::mutex mutex_;
    std::map<std::string, Bucket, std::less<>> buckets_;
    std::size_t sweep_at_ = kFirstSweep;
};

}  // namespace crab::core
