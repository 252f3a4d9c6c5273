#include "base/clock.hpp"

namespace crab {
namespace {

/// Writes `value` with leading zeros and returns the end.
char* put(char* to, unsigned value, int digits) {
    for (int at = digits - 1; at >= 0; --at) {
        to[at] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    return to + digits;
}

}  // namespace

Rfc3339Text::Rfc3339Text(SystemTime time) : text_{} {
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const std::chrono::hh_mm_ss clock(std::chrono::floor<Milliseconds>(time - days));
    char* to = put(text_.data(), static_cast<unsigned>(static_cast<int>(date.year())), 4);
    *to++ = '-';
    to = put(to, static_cast<unsigned>(date.month()), 2);
    *to++ = '-';
    to = put(to, static_cast<unsigned>(date.day()), 2);
    *to++ = 'T';
    to = put(to, static_cast<unsigned>(clock.hours().count()), 2);
    *to++ = ':';
    to = put(to, static_cast<unsigned>(clock.minutes().count()), 2);
    *to++ = ':';
    to = put(to, static_cast<unsigned>(clock.seconds().count()), 2);
    *to++ = '.';
    to = put(to, static_cast<unsigned>(clock.subseconds().count()), 3);
    *to = 'Z';
}

std::string to_rfc3339(SystemTime time) { return std::string(Rfc3339Text(time).view()); }

}  // namespace crab
