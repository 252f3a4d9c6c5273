#include "base/hash.hpp"

#include <random>

namespace crab::detail {

std::uint64_t hash_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32) ^ device();
}

}  // namespace crab::detail
