#include "core/live/latency_sketch.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace crab::core {
namespace {

constexpr std::uint32_t kParts = 4;  ///< of each power of two

/// 0 to 3 are ranges of their own; then four ranges to each power of two.
std::uint32_t index_of(std::int64_t us) {
    if (us < std::int64_t{kParts}) return static_cast<std::uint32_t>(std::max<std::int64_t>(us, 0));
    const auto value = static_cast<std::uint64_t>(us);
    const auto power = static_cast<std::uint32_t>(std::bit_width(value)) - 1;
    const auto part = static_cast<std::uint32_t>(value >> (power - 2)) & (kParts - 1);
    return std::min<std::uint32_t>((power - 1) * kParts + part, LatencySketch::kRanges - 1);
}

/// The least value of a range.
std::int64_t start_of(std::uint32_t index) {
    if (index < kParts) return index;
    const std::uint32_t power = index / kParts + 1;
    return std::int64_t{kParts + index % kParts} << (power - 2);
}

}  // namespace

LatencySketch::Range& LatencySketch::at(std::uint32_t index) {
    const auto found = std::ranges::lower_bound(counts_, index, {}, &Range::index);
    if (found != counts_.end() && found->index == index) return *found;
    return *counts_.insert(found, {.index = index, .count = 0});
}

void LatencySketch::add(std::int64_t us, std::uint64_t count) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    Range& range = at(index_of(us));
    const std::uint64_t fits = std::min(count, kMost - range.count);
    range.count += static_cast<std::uint32_t>(fits);
    total_ += fits;
}

void LatencySketch::add(const LatencySketch& other) {
    for (const Range& range : other.counts_) add(start_of(range.index), range.count);
}

std::int64_t LatencySketch::percentile(double part) const {
    const double wanted = part * static_cast<double>(total_);
    double before = 0;
    for (const Range& range : counts_) {
        const double until = before + range.count;
        if (until >= wanted) {
            const auto start = static_cast<double>(start_of(range.index));
            const double width = static_cast<double>(start_of(range.index + 1)) - start;
            return static_cast<std::int64_t>(start + width * (wanted - before) / range.count);
        }
        before = until;
    }
    return 0;
}

}  // namespace crab::core
