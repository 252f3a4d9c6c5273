// Dates, times and durations: RFC 3339.

#include "json/scan.hpp"
#include "json/schema/format.hpp"

namespace crab::json::formats {
namespace {

bool scan_date(Scan& scan) {
    const auto year = scan.digits(4);
    if (!year || !scan.skip('-')) return false;
    const auto month = scan.digits(2);
    if (!month || !scan.skip('-')) return false;
    const auto day = scan.digits(2);
    if (!day || *month < 1 || *month > 12 || *day < 1) return false;
    const bool leap = (*year % 4 == 0 && *year % 100 != 0) || *year % 400 == 0;
    const int last = *month == 2                                                 ? (leap ? 29 : 28)
                     : *month == 4 || *month == 6 || *month == 9 || *month == 11 ? 30
                                                                                 : 31;
    return *day <= last;
}

bool scan_time(Scan& scan) {
    const auto hour = scan.digits(2);
    if (!hour || !scan.skip(':')) return false;
    const auto minute = scan.digits(2);
    if (!minute || !scan.skip(':')) return false;
    const auto second = scan.digits(2);
    if (!second || *hour > 23 || *minute > 59 || *second > 60) return false;
    if (scan.skip('.') && scan.take_while(is_ascii_digit).empty()) return false;
    int offset = 0;  // minutes east of UTC
    if (!scan.skip_any("zZ")) {
        const bool west = scan.peek() == '-';
        if (!scan.skip_any("+-")) return false;
        const auto hours = scan.digits(2);
        if (!hours || !scan.skip(':')) return false;
        const auto minutes = scan.digits(2);
        if (!minutes || *hours > 23 || *minutes > 59) return false;
        offset = (west ? -1 : 1) * (*hours * 60 + *minutes);
    }
    if (*second < 60) return true;
    constexpr int kDay = 24 * 60;
    // a leap second is the last of a UTC day
    return (*hour * 60 + *minute - offset + kDay) % kDay == kDay - 1;
}

// Numbers with the units of `units` in that order, without gaps: "YMD" takes 1Y, 1Y2M, 2M3D, but
// not 1Y3D. Returns how many.
int scan_units(Scan& scan, std::string_view units) {
    int found = 0;
    while (is_ascii_digit(scan.peek())) {
        scan.take_while(is_ascii_digit);
        const std::size_t at = units.find(scan.peek());
        if (scan.done() || at == std::string_view::npos || (found > 0 && at != 0)) return -1;
        scan.skip(scan.peek());
        units.remove_prefix(at + 1);
        ++found;
    }
    return found;
}

}  // namespace

bool is_date(std::string_view text) {
    Scan scan(text);
    return scan_date(scan) && scan.done();
}

bool is_time(std::string_view text) {
    Scan scan(text);
    return scan_time(scan) && scan.done();
}

bool is_date_time(std::string_view text) {
    Scan scan(text);
    return scan_date(scan) && scan.skip_any("tT") && scan_time(scan) && scan.done();
}

bool is_duration(std::string_view text) {
    Scan scan(text);
    if (!scan.skip('P')) return false;
    const int days = scan_units(scan, "YMD");
    if (days == -1) {  // weeks stand alone
        Scan weeks(text.substr(1));
        return !weeks.take_while(is_ascii_digit).empty() && weeks.skip('W') && weeks.done();
    }
    if (scan.done()) return days > 0;
    return scan.skip('T') && scan_units(scan, "HMS") > 0 && scan.done();
}

}  // namespace crab::json::formats
