#include "hosts/cron/cron_occurrences.hpp"

#include <algorithm>

namespace crab::cron {
namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;

/// A ZoneSpan in whole minutes: those that begin in it. An offset with seconds, as before 1972, is
/// cut to the minute.
struct MinuteSpan {
    SysMinutes begin, end;
    minutes offset;

    LocalMinutes local(SysMinutes time) const {
        return LocalMinutes(time.time_since_epoch() + offset);
    }
    SysMinutes real(LocalMinutes time) const {
        return SysMinutes(time.time_since_epoch() - offset);
    }
};

/// The span from `time` on, at most until `limit`.
MinuteSpan span_from(const TimeZone& zone, SysMinutes time, SysMinutes limit) {
    const ZoneSpan span = zone.span_from(time);
    const SysMinutes end = span.end >= limit ? limit : std::chrono::ceil<minutes>(span.end);
    return {.begin = time, .end = end, .offset = std::chrono::floor<minutes>(span.offset)};
}

}  // namespace

/// One past the highest reading of all minutes before `time`. No clock is set back by more than
/// three days.
LocalMinutes CronOccurrences::highest_reading_before(SysMinutes time) const {
    LocalMinutes highest = LocalMinutes::min();
    for (SysMinutes at = time - days(3); at < time;) {
        const MinuteSpan span = span_from(zone_, at, time);
        highest = std::max(highest, span.local(span.end));
        at = span.end;
    }
    return highest;
}

std::optional<SysMinutes> CronOccurrences::next_after(SystemTime time) const {
    const SysMinutes start = std::chrono::floor<minutes>(time) + minutes(1);
    const SysMinutes limit = start + days(12 * 366);
    LocalMinutes passed =
        schedule_.runs_every_hour() ? LocalMinutes::min() : highest_reading_before(start);
    for (SysMinutes at = start; at < limit;) {
        const MinuteSpan span = span_from(zone_, at, limit);
        if (schedule_.runs_every_hour()) {
            if (const auto match = schedule_.next_match(span.local(at), span.local(span.end)))
                return span.real(*match);
        } else {
            // A match before this span's first reading was skipped by a gap.
            if (const auto match = schedule_.next_match(passed, span.local(span.end)))
                return span.real(std::max(*match, span.local(at)));
            passed = std::max(passed, span.local(span.end));
        }
        at = span.end;
    }
    return std::nullopt;
}

SysMinutes CronOccurrences::latest(SysMinutes first, SysMinutes until) const {
    while (first < until) {
        const SysMinutes middle = first + (until - first + minutes(1)) / 2;
        const auto found = next_after(middle - minutes(1));
        if (found && *found <= until) {
            first = *found;
        } else {
            until = middle - minutes(1);
        }
    }
    return first;
}

}  // namespace crab::cron
