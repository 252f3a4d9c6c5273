#pragma once

#include "crypto/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace crab::crypto {

/// Source of random bytes for secrets. Programs use SystemRandom; tests of published vectors supply
/// the vector's bytes.
class RandomSource {
public:
    virtual ~RandomSource() = default;
    /// Fills `bytes`; throws on failure.
    virtual void fill(std::span<std::uint8_t> bytes) = 0;

    template <std::size_t N>
    std::array<std::uint8_t, N> bytes() {
        std::array<std::uint8_t, N> drawn;
        fill(drawn);
        return drawn;
    }
};

class SystemRandom final : public RandomSource {
public:
    void fill(std::span<std::uint8_t> bytes) override { fill_random(bytes); }
};

}  // namespace crab::crypto
