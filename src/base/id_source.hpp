#pragma once

#include "base/clock.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab {

/// The 36 characters of a UUID, held in place: no allocation.
class UuidText {
public:
    UuidText() = default;
    /// Formats 128 bits, high half first (RFC 9562, section 4).
    UuidText(std::uint64_t high, std::uint64_t low);
    std::string_view view() const { return {text_.data(), text_.size()}; }

private:
    std::array<char, 36> text_{};
};

/// Makes ids. Not thread-safe: one per event loop. Tests seed it.
class IdSource {
public:
    IdSource(const Clock& clock, std::uint64_t seed);
    /// Seeded from the operating system.
    explicit IdSource(const Clock& clock);

    /// UUID version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, then random bits.
    UuidText uuid_v7();
    /// UUID version 7 whose last 62 bits are `tag`, for ids that encode a slot.
    UuidText uuid_v7(std::uint64_t tag);
    /// Random bits for jitter and sampling; not for secrets (crypto/random.hpp).
    std::uint64_t random();

private:
    const Clock& clock_;
    std::array<std::uint64_t, 4> state_;
};

/// The last 62 bits of a UUID in its usual text form; nothing for any other text.
std::optional<std::uint64_t> uuid_tag(std::string_view text);

}  // namespace crab
