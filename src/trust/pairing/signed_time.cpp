#include "trust/pairing/signed_time.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace crab::trust {
namespace {

using namespace std::chrono;

/// Reads digits and separators from left to right; one failure makes all that follows fail.
class TimeReader {
public:
    explicit TimeReader(std::string_view text) : rest_(text) {}

    int digits(std::size_t count) {
        int number = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return failed();
            number = number * 10 + (rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return number;
    }
    void expect(char c) {
        if (!take(c)) failed();
    }
    bool take(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view run_of_digits() {
        const std::string_view run =
            rest_.substr(0, std::min(rest_.find_first_not_of("0123456789"), rest_.size()));
        rest_.remove_prefix(run.size());
        return run;
    }
    bool done() const { return good_ && rest_.empty(); }

private:
    int failed() {
        good_ = false;
        return 0;
    }
    std::string_view rest_;
    bool good_ = true;
};

std::optional<nanoseconds> fraction_of(std::string_view digits) {
    if (digits.empty() || digits.size() > 9) return std::nullopt;
    int number = 0;
    for (std::size_t i = 0; i < 9; ++i)
        number = number * 10 + (i < digits.size() ? digits[i] - '0' : 0);
    return nanoseconds(number);
}

const sys_seconds kFirst = sys_days(year(0) / 1 / 1);
const sys_seconds kLast = sys_seconds(sys_days(year(9999) / 12 / 31)) + hours(24) - seconds(1);

}  // namespace

SignedTime SignedTime::from(SystemTime time) {
    const sys_seconds whole_seconds = floor<seconds>(time);
    return {whole_seconds, time - whole_seconds, minutes(0)};
}

std::optional<SignedTime> SignedTime::parse(std::string_view text) {
    TimeReader in(text);
    const int y = in.digits(4);
    in.expect('-');
    const int m = in.digits(2);
    in.expect('-');
    const int d = in.digits(2);
    in.expect('T');
    const int hour = in.digits(2);
    in.expect(':');
    const int minute = in.digits(2);
    in.expect(':');
    const int second = in.digits(2);
    nanoseconds parts{0};
    if (in.take('.')) {
        const auto read = fraction_of(in.run_of_digits());
        if (!read) return std::nullopt;
        parts = *read;
    }
    minutes from_utc{0};
    if (!in.take('Z')) {
        const bool west = in.take('-');
        if (!west) in.expect('+');
        const int offset_hours = in.digits(2);
        in.expect(':');
        const int offset_minutes = in.digits(2);
        if (offset_hours > 23 || offset_minutes > 59) return std::nullopt;
        from_utc = hours(offset_hours) + minutes(offset_minutes);
        if (west) from_utc = -from_utc;
    }
    const year_month_day date = year(y) / m / d;
    if (!in.done() || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
    const sys_seconds utc =
        sys_seconds(sys_days(date)) + hours(hour) + minutes(minute) + seconds(second) - from_utc;
    if (utc < kFirst || utc > kLast) return std::nullopt;  // in_utc() could not print it
    return SignedTime{utc, parts, from_utc};
}

std::string SignedTime::text() const {
    const sys_seconds local = whole + offset;
    const sys_days day = floor<days>(local);
    const year_month_day date(day);
    const hh_mm_ss time(local - day);
    std::string out =
        fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    time.hours().count(), time.minutes().count(), time.seconds().count());
    if (fraction != nanoseconds(0)) {
        out += fmt::format(".{:09}", fraction.count());
        out.erase(out.find_last_not_of('0') + 1);
    }
    if (offset == minutes(0)) return out + 'Z';
    const auto size = abs(offset).count();
    return out +
           fmt::format("{}{:02}:{:02}", offset < minutes(0) ? '-' : '+', size / 60, size % 60);
}

SystemTime SignedTime::system_time() const {
    // The clock's own type reaches from 1677 to 2262; what lies beyond is as good as its ends for
    // "is it in time?".
    if (whole < ceil<seconds>(SystemTime::min())) return SystemTime::min();
    if (whole >= floor<seconds>(SystemTime::max())) return SystemTime::max();
    return SystemTime(whole) + fraction;
}

}  // namespace crab::trust
