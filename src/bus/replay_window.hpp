#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace crab::bus {

/// The numbers that have come from one sender: each is taken once, in any order among the newest
/// 1,024; older ones are refused.
class ReplayWindow {
public:
    static constexpr std::size_t kSize = 1'024;

    /// Whether `sequence` is new; from now on it is not.
    bool take(std::uint64_t sequence) {
        if (sequence == 0) return false;
        if (sequence > newest_) {
            const std::uint64_t ahead = sequence - newest_;
            for (std::uint64_t i = 1; i <= ahead && i <= kSize; ++i)
                seen_.reset((newest_ + i) % kSize);
            newest_ = sequence;
        } else if (newest_ - sequence >= kSize || seen_.test(sequence % kSize)) {
            return false;
        }
        seen_.set(sequence % kSize);
        return true;
    }

private:
    std::bitset<kSize> seen_;
    std::uint64_t newest_ = 0;
};

}  // namespace crab::bus
