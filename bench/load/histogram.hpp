#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

namespace crab::bench {

/// Durations in logarithmic buckets, 64 to each power of two: a quantile is off by at most 1.6 %, a
/// record costs a nanosecond.
class Histogram {
public:
    void record(std::chrono::nanoseconds duration) {
        const auto value = duration.count() < 0 ? 0 : static_cast<std::uint64_t>(duration.count());
        ++counts_[bucket_of(value)];
        ++total_;
    }

    std::uint64_t total() const { return total_; }

    /// The upper bound of the bucket below which `share` (0..1) of the records lie, in
    /// microseconds; 0 when there are none.
    double quantile_us(double share) const {
        std::uint64_t seen = 0;
        for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
            seen += counts_[bucket];
            if (seen > 0 && static_cast<double>(seen) >= share * static_cast<double>(total_))
                return static_cast<double>(upper_bound(bucket)) / 1000.0;
        }
        return 0;
    }

private:
    static constexpr unsigned kSubBits = 6;

    // Values below 64 have a bucket each; above, the leading bit chooses the group and the next six
    // bits the bucket.
    static std::size_t bucket_of(std::uint64_t value) {
        if (value < (1u << kSubBits)) return value;
        const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
        return (static_cast<std::size_t>(shift + 1) << kSubBits) +
               ((value >> shift) & ((1u << kSubBits) - 1));
    }

    static std::uint64_t upper_bound(std::size_t bucket) {
        if (bucket < (1u << kSubBits)) return bucket;
        const auto shift = static_cast<unsigned>(bucket >> kSubBits) - 1;
        const std::uint64_t lead = (1u << kSubBits) | (bucket & ((1u << kSubBits) - 1));
        return ((lead + 1) << shift) - 1;
    }

    std::array<std::uint64_t, 60 << kSubBits> counts_{};
    std::uint64_t total_ = 0;
};

}  // namespace crab::bench
