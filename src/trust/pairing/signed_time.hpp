#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

/// A time as messages carry it: to the nanosecond and with the writer's offset, both of which its
/// signed text shows. Source: RFC 3339; docs/protocols/rtp.md, section 5.4.
struct SignedTime {
    std::chrono::sys_seconds whole;          ///< years 0 to 9999 in UTC
    std::chrono::nanoseconds fraction{0};    ///< less than a second
    std::chrono::minutes offset{0};  ///< of the writer's clock from UTC, shorter than a day

    static SignedTime from(SystemTime time);
    /// Upper-case `T` and `Z`, a fraction of one to nine digits or none, no leap second. Nothing
    /// for any other text.
    static std::optional<SignedTime> parse(std::string_view text);

    /// The text that is signed: seconds, the fraction without trailing zeros, `Z` for offset zero,
    /// else `+hh:mm` or `-hh:mm`.
    std::string text() const;
    SignedTime in_utc() const { return {whole, fraction, std::chrono::minutes(0)}; }
    SystemTime system_time() const;

    friend bool operator==(const SignedTime&, const SignedTime&) = default;
};

}  // namespace crab::trust
