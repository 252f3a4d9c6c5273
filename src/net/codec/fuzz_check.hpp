#pragma once

#include "base/fuzz_check.hpp"

#include <cstddef>
#include <cstdint>

namespace crab::net {

using crab::require;

/// Where to cut the input next: a small sequence that depends on the input alone, so that every
/// crash repeats.
class Cuts {
public:
    Cuts(const std::uint8_t* data, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) state_ = (state_ ^ data[i]) * 1'099'511'628'211U;
    }
    /// 1..most
    std::size_t next(std::size_t most) {
        state_ = state_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        return 1 + (state_ >> 33) % most;
    }

private:
    std::uint64_t state_ = 14'695'981'039'346'656'037U;
};

}  // namespace crab::net
