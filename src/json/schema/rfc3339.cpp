#include "json/schema/rfc3339.hpp"

#include "json/scan.hpp"
#include "json/schema/format.hpp"

#include <algorithm>

namespace crab::json {

std::optional<SystemTime> parse_rfc3339(std::string_view text) {
    // from here on every part is there and in range
    if (!json::formats::is_date_time(text)) return std::nullopt;
    using namespace std::chrono;
    json::Scan scan(text);
    const auto number = [&](std::size_t digits) {
        const int value = scan.digits(digits).value_or(0);
        scan.skip_any("-tT:");
        return value;
    };
    const year_month_day date{year(number(4)), month(static_cast<unsigned>(number(2))),
                              day(static_cast<unsigned>(number(2)))};
    sys_time<milliseconds> time = sys_days(date) + hours(number(2));
    time += minutes(number(2));
    time += seconds(scan.digits(2).value_or(0));
    if (scan.skip('.')) {
        int weight = 100;
        for (const char c : scan.take_while(json::is_ascii_digit)) {
            time += milliseconds((c - '0') * weight);
            weight /= 10;
        }
    }
    const bool west = scan.peek() == '-';
    if (scan.skip_any("+-")) {
        const hours offset_hours(number(2));
        const auto offset = offset_hours + minutes(scan.digits(2).value_or(0));
        time += west ? offset : -offset;
    }
    constexpr sys_time<milliseconds> kFirst = sys_days(1678y / January / 1),
                                     kLast = sys_days(2261y / December / 31);
    return SystemTime(std::clamp(time, kFirst, kLast));
}

}  // namespace crab::json
