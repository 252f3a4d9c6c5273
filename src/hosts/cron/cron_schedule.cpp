#include "hosts/cron/cron_schedule.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>

#include <fmt/format.h>

namespace crab::cron {
namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::months;
using std::chrono::year_month;
using std::chrono::year_month_day;

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};

struct FieldRule {
    std::string_view name;
    unsigned low, high;
    std::span<const std::string_view> names;   ///< of `low` and the values after it
};
constexpr std::array<FieldRule, 5> kFields{{{"minute", 0, 59, {}},
                                            {"hour", 0, 23, {}},
                                            {"day", 1, 31, {}},
                                            {"month", 1, 12, kMonths},
                                            {"weekday", 0, 7, kWeekdays}}};

struct Alias {
    std::string_view name, fields;
};
constexpr std::array<Alias, 7> kAliases{{{"@hourly", "0 * * * *"},
                                         {"@daily", "0 0 * * *"},
                                         {"@midnight", "0 0 * * *"},
                                         {"@weekly", "0 0 * * 0"},
                                         {"@monthly", "0 0 1 * *"},
                                         {"@yearly", "0 0 1 1 *"},
                                         {"@annually", "0 0 1 1 *"}}};

struct Field {
    std::uint64_t values = 0;
    bool begins_with_star = false, has_plain_star = false;
};

/// Takes what stands before the first `separator` from `rest`; all of it when there is none, and
/// then `rest` has no data.
std::string_view take_until(std::string_view& rest, char separator) {
    const std::size_t end = rest.find(separator);
    const std::string_view taken = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    return taken;
}

bool same_name(std::string_view text, std::string_view lower_case) {
    return std::ranges::equal(text, lower_case, [](char c, char lower) {
        return (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == lower;
    });
}

std::optional<unsigned> find_number(std::string_view text) {
    unsigned value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || problem != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::unexpected<Error> refuse(const FieldRule& rule, std::string_view item, std::string_view why) {
    return fail(ErrorCode::kInvalidArgs,
                fmt::format("schedule: `{}` in the {} field: {}", item, rule.name, why));
}

Result<unsigned> parse_value(const FieldRule& rule, std::string_view text, std::string_view item) {
    for (unsigned i = 0; i < rule.names.size(); ++i) {
        if (same_name(text, rule.names[i])) return rule.low + i;
    }
    const auto value = find_number(text);
    if (!value)
        return refuse(rule, item,
                      rule.names.empty() ? "write a number, a range or `*`"
                                         : "write a number, a name, a range or `*`");
    if (*value < rule.low || *value > rule.high)
        return refuse(rule, item, fmt::format("{} to {} is allowed", rule.low, rule.high));
    return *value;
}

/// `*`, `*/n`, `a`, `a-b` or `a-b/n` as the bits of its values.
Result<std::uint64_t> parse_item(const FieldRule& rule, std::string_view item) {
    std::string_view step_text = item;
    std::string_view range = take_until(step_text, '/');
    const bool has_step = item.find('/') != std::string_view::npos;
    const bool is_range = range.find('-') != std::string_view::npos;
    unsigned low = rule.low, high = rule.high, step = 1;
    if (range != "*") {
        const std::string_view first = take_until(range, '-');
        const auto begin = parse_value(rule, first, item);
        if (!begin) return fail(begin.error());
        const auto end = is_range ? parse_value(rule, range, item) : begin;
        if (!end) return fail(end.error());
        low = *begin;
        high = *end;
        if (low > high) return refuse(rule, item, "a range goes upward");
        if (has_step && !is_range)
            return refuse(rule, item, "a step needs a range or `*` before it");
    }
    if (has_step) {
        const auto every = find_number(step_text);
        if (!every || *every == 0) return refuse(rule, item, "a step is a number from 1 on");
        step = std::min(*every, 100U);   // beyond the field's last value in any case
    }
    std::uint64_t values = 0;
    for (unsigned value = low; value <= high; value += step) values |= std::uint64_t{1} << value;
    return values;
}

Result<Field> parse_field(const FieldRule& rule, std::string_view text) {
    Field field{.values = 0, .begins_with_star = text.starts_with('*'), .has_plain_star = false};
    for (std::string_view rest = text; rest.data() != nullptr;) {
        const std::string_view item = take_until(rest, ',');
        if (item.empty()) return refuse(rule, text, "an item of the list is empty");
        const auto values = parse_item(rule, item);
        if (!values) return fail(values.error());
        field.values |= *values;
        field.has_plain_star |= item == "*";
    }
    return field;
}

bool has(std::uint64_t bits, unsigned value) { return (bits >> value & 1) != 0; }

/// The first value at or after `from` among the bits.
std::optional<unsigned> first_from(std::uint64_t bits, unsigned from) {
    const std::uint64_t left = bits >> from << from;
    if (left == 0) return std::nullopt;
    return static_cast<unsigned>(std::countr_zero(left));
}

}  // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
    if (text.size() > kMostBytes)
        return fail(ErrorCode::kInvalidArgs, fmt::format("schedule: at most {} bytes", kMostBytes));
    for (const Alias& alias : kAliases) {
        if (text == alias.name) text = alias.fields;
    }
    if (text.starts_with('@'))
        return fail(ErrorCode::kInvalidArgs,
                    "schedule: unknown alias; use @hourly, @daily, @midnight, @weekly, @monthly, "
                    "@yearly, @annually or five fields");
    if (text.find('=') != std::string_view::npos)
        return fail(ErrorCode::kInvalidArgs,
                    "schedule: no settings inside; give the time zone in `timezone`");
    std::array<Field, 5> fields;
    std::size_t count = 0;
    constexpr std::string_view kBlank = " \t";
    for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos; ++count) {
        const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
        if (count < fields.size()) {
            const auto field = parse_field(kFields[count], text.substr(at, end - at));
            if (!field) return fail(field.error());
            fields[count] = *field;
        }
        at = text.find_first_not_of(kBlank, end);
    }
    if (count != fields.size())
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format("schedule: five fields are needed (minute hour day month weekday), not {}",
                        count));

    CronSchedule schedule;
    schedule.minutes_ = fields[0].values;
    schedule.hours_ = static_cast<std::uint32_t>(fields[1].values);
    schedule.days_ = static_cast<std::uint32_t>(fields[2].values);
    schedule.months_ = static_cast<std::uint32_t>(fields[3].values);
    // 7 is Sunday as well
    schedule.weekdays_ = static_cast<std::uint32_t>(fields[4].values | fields[4].values >> 7);
    schedule.hour_begins_with_star_ = fields[1].begins_with_star;
    schedule.any_day_ = fields[2].has_plain_star;
    schedule.any_weekday_ = fields[4].has_plain_star;
    if (!schedule.comes_ever())
        return fail(ErrorCode::kInvalidArgs,
                    "schedule: this date never comes; check day and month");
    return schedule;
}

/// Only a day that none of the months has can keep a schedule from ever matching.
bool CronSchedule::comes_ever() const {
    if (any_day_ || !any_weekday_) return true;
    constexpr std::array<unsigned, 12> kLastDays{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (unsigned month = 1; month <= 12; ++month) {
        if (has(months_, month) && *first_from(days_, 1) <= kLastDays[month - 1]) return true;
    }
    return false;
}

bool CronSchedule::matches_day(year_month_day date) const {
    const bool day = has(days_, static_cast<unsigned>(date.day()));
    const bool weekday = has(weekdays_, std::chrono::weekday(local_days(date)).c_encoding());
    return any_day_ || any_weekday_ ? day && weekday : day || weekday;
}

std::optional<LocalMinutes> CronSchedule::next_match(LocalMinutes from, LocalMinutes until) const {
    local_days day = std::chrono::floor<days>(from);
    auto minute_of_day = static_cast<unsigned>((from - day).count());
    while (day < until) {
        const year_month_day date(day);
        if (!has(months_, static_cast<unsigned>(date.month()))) {
            day = local_days((year_month(date.year(), date.month()) + months(1)) / 1);
            minute_of_day = 0;
            continue;
        }
        if (matches_day(date)) {
            for (auto hour = first_from(hours_, minute_of_day / 60); hour;
                 hour = first_from(hours_, *hour + 1)) {
                const unsigned first_minute = *hour == minute_of_day / 60 ? minute_of_day % 60 : 0;
                if (const auto minute = first_from(minutes_, first_minute)) {
                    const LocalMinutes found = day + minutes(*hour * 60 + *minute);
                    if (found < until) return found;
                    return std::nullopt;
                }
            }
        }
        day += days(1);
        minute_of_day = 0;
    }
    return std::nullopt;
}

}  // namespace crab::cron
