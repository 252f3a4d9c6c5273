#pragma once

#include "base/result.hpp"
#include "hosts/cron/posix_time_zone.hpp"
#include "hosts/cron/zone_span.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace crab::cron {

/// How a place's clocks differ from UTC at any time. Immutable.
class TimeZone {
public:
    static constexpr std::size_t kMostBytes = std::size_t{256} << 10;

    /// UTC, for which no file is needed.
    TimeZone() : offsets_{std::chrono::seconds(0)} {}

    /// Reads a time zone file (TZif, versions 1 to 4). Errors: kInvalidArgs for anything else, a
    /// file that counts leap seconds included. Source: RFC 8536.
    static Result<TimeZone> parse(std::string_view bytes);

    /// The span around `time`; never empty.
    ZoneSpan span_at(std::chrono::sys_seconds time) const;

private:
    friend class TzifReader;

    std::vector<std::chrono::sys_seconds> changes_;  ///< ascending
    /// One more: [0] before the first change, [i + 1] from change i on
    std::vector<std::chrono::seconds> offsets_;
    /// After the last change; of a zone without changes at all times
    std::optional<PosixTimeZone> afterwards_;
};

}  // namespace crab::cron
