#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace crab::core {

/// How long calls took, as counts by ranges, four to each power of two: a percentile is off by a
/// quarter at most, mostly by less than a tenth. Takes 8 bytes per range in use.
class LatencySketch {
public:
    static constexpr std::size_t kRanges = 120;

    void add(std::int64_t us, std::uint64_t count = 1);
    void add(const LatencySketch& other);
    void clear() {
        counts_.clear();
        total_ = 0;
    }
    std::uint64_t count() const { return total_; }
    /// Microseconds that the share `part` (0 to 1) of all took at most; 0 of none.
    std::int64_t percentile(double part) const;

private:
    struct Range {
        std::uint32_t index = 0;
        std::uint32_t count = 0;
    };
    Range& at(std::uint32_t index);

    std::vector<Range> counts_;  ///< by index
    std::uint64_t total_ = 0;
};

}  // namespace crab::core
