#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace crab::json {

/// Sixteen bytes of a text, to look at together. A test has a bit for each byte that fits; the
/// lowest stands for the first.
class StringBlock {
public:
    static constexpr std::size_t kSize = 16;

    explicit StringBlock(const char* bytes) { std::memcpy(&bytes_, bytes, kSize); }

    void store(void* out) const { std::memcpy(out, &bytes_, kSize); }
    /// What cannot stand inside a JSON string (RFC 8259, section 7): quotes, backslashes, control
    /// characters.
    std::uint32_t escapes() const;
    std::uint32_t beyond_ascii() const;
    /// The place of the first byte that fits; `found` is not 0.
    static std::size_t first(std::uint32_t found) {
        return static_cast<std::size_t>(std::countr_zero(found));
    }

private:
#ifdef __SSE2__
    __m128i bytes_;
#else
    unsigned char bytes_[kSize];
#endif
};

#ifdef __SSE2__
inline std::uint32_t StringBlock::escapes() const {
    const __m128i quotes = _mm_cmpeq_epi8(bytes_, _mm_set1_epi8('"'));
    const __m128i slashes = _mm_cmpeq_epi8(bytes_, _mm_set1_epi8('\\'));
    const __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes_, _mm_set1_epi8(0x1F)), bytes_);
    const __m128i found = _mm_or_si128(_mm_or_si128(quotes, slashes), controls);
    return static_cast<std::uint32_t>(_mm_movemask_epi8(found));
}
inline std::uint32_t StringBlock::beyond_ascii() const {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes_));
}
#else
inline std::uint32_t StringBlock::escapes() const {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
        const bool fits = bytes_[i] < 0x20 || bytes_[i] == '"' || bytes_[i] == '\\';
        found |= std::uint32_t{fits} << i;
    }
    return found;
}
inline std::uint32_t StringBlock::beyond_ascii() const {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < kSize; ++i) found |= std::uint32_t{bytes_[i] >= 0x80} << i;
    return found;
}
#endif

}  // namespace crab::json
