#include "base/id_source.hpp"

#include "base/ascii.hpp"
#include "base/hash.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <string_view>

namespace crab {
namespace {

constexpr std::uint64_t kVariant = 0x8000'0000'0000'0000ULL;
constexpr std::uint64_t kTagMask = 0x3fff'ffff'ffff'ffffULL;

std::uint64_t split_mix(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/// The two digits of each byte.
constexpr auto kHexOfByte = [] {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> table{};
    for (std::size_t byte = 0; byte < table.size(); ++byte)
        table[byte] = {kDigits[byte >> 4], kDigits[byte & 0xf]};
    return table;
}();

constexpr auto kValueOfHex = [] {
    std::array<std::int8_t, 256> table{};
    for (std::size_t byte = 0; byte < table.size(); ++byte)
        table[byte] = static_cast<std::int8_t>(hex_value(static_cast<char>(byte)));
    return table;
}();

/// The lowest `bytes` bytes of `value`; returns where it ends.
char* write_hex(char* to, std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8, to += 2)
        std::memcpy(to, kHexOfByte[(value >> shift) & 0xff].data(), 2);
    return to;
}

}  // namespace

UuidText::UuidText(std::uint64_t high, std::uint64_t low) {
    char* at = text_.data();
    at = write_hex(at, high >> 32, 4);
    *at++ = '-';
    at = write_hex(at, high >> 16, 2);
    *at++ = '-';
    at = write_hex(at, high, 2);
    *at++ = '-';
    at = write_hex(at, low >> 48, 2);
    *at++ = '-';
    write_hex(at, low, 6);
}

IdSource::IdSource(const Clock& clock, std::uint64_t seed) : clock_(clock), state_{} {
    for (std::uint64_t& word : state_) word = split_mix(seed);
}

IdSource::IdSource(const Clock& clock) : IdSource(clock, detail::hash_seed()) {}

std::uint64_t IdSource::random() {  // xoshiro256**, Blackman and Vigna
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

UuidText IdSource::uuid_v7() { return uuid_v7(random() & kTagMask); }

UuidText IdSource::uuid_v7(std::uint64_t tag) {
    const auto ms = static_cast<std::uint64_t>(to_unix_ms(clock_.system_now()));
    const std::uint64_t high = (ms << 16) | 0x7000 | (random() & 0x0fff);
    return UuidText(high, kVariant | (tag & kTagMask));
}

std::optional<std::uint64_t> uuid_tag(std::string_view text) {
    if (text.size() != 36) return std::nullopt;
    if (text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-')
        return std::nullopt;
    std::uint64_t low = 0;
    std::int8_t digits = 0;  // negative once one was none
    const auto read = [&](std::size_t from, std::size_t to) {
        for (std::size_t at = from; at < to; ++at) {
            const std::int8_t digit = kValueOfHex[static_cast<unsigned char>(text[at])];
            digits = static_cast<std::int8_t>(digits | digit);
            low = (low << 4) | static_cast<std::uint64_t>(digit & 0xf);
        }
    };
    read(0, 8);
    read(9, 13);
    read(14, 18);
    read(19, 23);
    read(24, 36);  // the high half is shifted out
    if (digits < 0) return std::nullopt;
    return low & kTagMask;
}

}  // namespace crab
