#include "hosts/cron/posix_time_zone.hpp"

#include <algorithm>
#include <charconv>

namespace crab::cron {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year;

/// Reads the text from left to right; every function moves on only past what it understood.
class PosixTimeZoneReader {
public:
    explicit PosixTimeZoneReader(std::string_view text) : rest_(text) {}

    std::optional<PosixTimeZone> read() {
        PosixTimeZone zone;
        if (!skip_name()) return std::nullopt;
        const auto west = read_time(24);
        if (!west) return std::nullopt;
        zone.standard_ = -*west;
        if (rest_.empty()) return zone;

        zone.has_summer_ = true;
        zone.summer_ = zone.standard_ + hours(1);
        if (!skip_name()) return std::nullopt;
        if (!rest_.starts_with(',')) {
            const auto summer_west = read_time(24);
            if (!summer_west) return std::nullopt;
            zone.summer_ = -*summer_west;
        }
        if (!read_change(zone.to_summer_) || !read_change(zone.to_standard_) || !rest_.empty())
            return std::nullopt;
        return zone;
    }

private:
    bool skip(char expected) {
        if (!rest_.starts_with(expected)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    /// `CEST` or `<+0530>`, three characters at least.
    bool skip_name() {
        const auto is_letter = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        };
        const bool quoted = skip('<');
        const auto end = std::ranges::find_if_not(rest_, [&](char c) {
            return is_letter(c) || (quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
        });
        const auto length = static_cast<std::size_t>(end - rest_.begin());
        rest_.remove_prefix(length);
        return length >= 3 && (!quoted || skip('>'));
    }
    std::optional<int> read_number(int low, int high) {
        int value = 0;
        if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return std::nullopt;
        const auto [end, problem] =
            std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (problem != std::errc{} || value < low || value > high) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }
    /// `[+-]hh[:mm[:ss]]`
    std::optional<seconds> read_time(int most_hours) {
        const bool negative = skip('-');
        if (!negative) skip('+');
        const auto hour = read_number(0, most_hours);
        if (!hour) return std::nullopt;
        seconds time = hours(*hour);
        if (skip(':')) {
            const auto minute = read_number(0, 59);
            if (!minute) return std::nullopt;
            time += minutes(*minute);
            if (skip(':')) {
                const auto second = read_number(0, 59);
                if (!second) return std::nullopt;
                time += seconds(*second);
            }
        }
        return negative ? -time : time;
    }
    /// `,Mm.w.d`, `,Jn` or `,n`, each with `/time` or without.
    bool read_change(PosixTimeZone::Change& change) {
        using Kind = PosixTimeZone::Change::Kind;
        if (!skip(',')) return false;
        const auto take = [this](unsigned& into, int low, int high) {
            const auto value = read_number(low, high);
            if (value) into = static_cast<unsigned>(*value);
            return value.has_value();
        };
        if (skip('M')) {
            change.kind = Kind::kMonthWeekDay;
            if (!take(change.month, 1, 12) || !skip('.') || !take(change.week, 1, 5) ||
                !skip('.') || !take(change.day, 0, 6))
                return false;
        } else if (skip('J')) {
            change.kind = Kind::kDayWithoutLeapDay;
            if (!take(change.day, 1, 365)) return false;
        } else {
            change.kind = Kind::kDay;
            if (!take(change.day, 0, 365)) return false;
        }
        if (!skip('/')) return true;
        const auto time = read_time(167);
        if (time) change.time_of_day = *time;
        return time.has_value();
    }

    std::string_view rest_;
};

std::optional<PosixTimeZone> PosixTimeZone::parse(std::string_view text) {
    return PosixTimeZoneReader(text).read();
}

sys_seconds PosixTimeZone::Change::in(year year) const {
    sys_days date;
    switch (kind) {
        case Kind::kMonthWeekDay: {
            const auto of_month = year / static_cast<int>(month);
            const std::chrono::weekday wanted(day);
            date = week == 5 ? sys_days(of_month / wanted[std::chrono::last])
                             : sys_days(of_month / wanted[week]);
            break;
        }
        case Kind::kDayWithoutLeapDay:
            date =
                sys_days(year / 1 / 1) + days(day - 1) + days(year.is_leap() && day >= 60 ? 1 : 0);
            break;
        case Kind::kDay: date = sys_days(year / 1 / 1) + days(day); break;
    }
    return sys_seconds(date) + time_of_day;
}

ZoneSpan PosixTimeZone::span_at(sys_seconds time) const {
    constexpr sys_seconds kFirst = sys_days(year(1) / 1 / 1);
    constexpr sys_seconds kEnd = sys_days(year(10'000) / 1 / 1);
    ZoneSpan span{.begin = sys_seconds::min(), .end = sys_seconds::max(), .offset = standard_};
    if (!has_summer_) return span;
    if (time < kFirst) return {.begin = span.begin, .end = kFirst, .offset = standard_};
    if (time >= kEnd) return {.begin = kEnd, .end = span.end, .offset = standard_};
    span.begin = kFirst;
    span.end = kEnd;
    // A change may lie up to 8 days outside its year. Of two at one moment that to summer time
    // counts: summer time that ends as it begins lasts all year.
    const auto apply = [&](sys_seconds when, seconds offset) {
        if (when <= time && when >= span.begin) {
            span.begin = when;
            span.offset = offset;
        } else if (when > time) {
            span.end = std::min(span.end, when);
        }
    };
    const year now = std::chrono::year_month_day(std::chrono::floor<days>(time)).year();
    for (int near = -2; near <= 2; ++near)
        apply(to_standard_.in(now + std::chrono::years(near)) - summer_, standard_);
    for (int near = -2; near <= 2; ++near)
        apply(to_summer_.in(now + std::chrono::years(near)) - standard_, summer_);
    return span;
}

}  // namespace crab::cron
