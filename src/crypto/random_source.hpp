#pragma once

#include "crypto/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace crab::crypto {

/// Where secrets come from. Programs give SystemRandom; tests of published vectors give the bytes
/// of the vector.
class RandomSource {
public:
    virtual ~RandomSource() = default;
    /// Fills `bytes`; throws when it cannot, which ends whatever needed the secret.
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
