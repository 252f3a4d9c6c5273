#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace crab::json {

/// Eight bytes of a text, to look at together. What a test returns has a bit set for each byte that
/// fits; bytes behind the first one that fits may have theirs wrongly, so only that one counts,
/// also of several results put together with `|`.
class ByteWord {
public:
    static constexpr std::size_t kSize = 8;

    explicit ByteWord(const char* bytes) {
        std::memcpy(&word_, bytes, kSize);
        if constexpr (std::endian::native == std::endian::big) word_ = std::byteswap(word_);
    }

    std::uint64_t is(char byte) const { return zeros(word_ ^ all(byte)); }
    /// `byte` with or without the bit 0x20, which tells `{` from `[` and `}` from `]`; it has it.
    std::uint64_t is_bracket(char byte) const { return zeros((word_ | all(0x20)) ^ all(byte)); }

    /// The place of the first byte that fits; `found` is not 0.
    static std::size_t first(std::uint64_t found) {
        return static_cast<std::size_t>(std::countr_zero(found)) / 8;
    }

private:
    static constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101, kHighs = kOnes * 0x80;
    static constexpr std::uint64_t all(char byte) {
        return kOnes * static_cast<unsigned char>(byte);
    }
    static std::uint64_t zeros(std::uint64_t word) { return (word - kOnes) & ~word & kHighs; }

    std::uint64_t word_;
};

}  // namespace crab::json
