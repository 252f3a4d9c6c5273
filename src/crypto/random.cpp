#include "crypto/random.hpp"

#include "base/encoding.hpp"

#include <openssl/rand.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace crab::crypto {

void fill_random(std::span<std::uint8_t> bytes) {
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
        throw std::runtime_error("secure random generator failed");
}

std::string random_hex(std::size_t bytes) {
    std::vector<std::uint8_t> raw(bytes);
    fill_random(raw);
    return to_hex(raw);
}

std::uint64_t random_below(std::uint64_t limit) {
    // The numbers below 2^64 mod limit are drawn again: what is left divides evenly.
    const std::uint64_t rejected = (0 - limit) % limit;
    for (;;) {
        std::array<std::uint8_t, 8> raw;
        fill_random(raw);
        std::uint64_t number;
        std::memcpy(&number, raw.data(), raw.size());
        if (number >= rejected) return number % limit;
    }
}

}  // namespace crab::crypto
