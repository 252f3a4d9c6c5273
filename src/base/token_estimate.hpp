#pragma once

#include <cstddef>

namespace crab {

/// Estimate of the tokens that a text costs a model: a quarter of its bytes.
inline constexpr std::size_t kBytesPerToken = 4;
constexpr std::size_t estimated_tokens(std::size_t bytes) {
    return (bytes + kBytesPerToken - 1) / kBytesPerToken;
}

}  // namespace crab
