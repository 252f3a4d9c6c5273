#include "net/codec/http_date.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace crab::net {
namespace {

// what SystemTime, which counts nanoseconds, can hold
constexpr int kFirstYear = 1900, kLastYear = 2200;
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// Takes a text apart from the left; once something is missing, everything is.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}
    int number(std::size_t digits) {
        int value = 0;
        const std::string_view word = take(digits);
        const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (problem != std::errc() || end != word.data() + word.size() || word.starts_with('-'))
            fits_ = false;
        return value;
    }
    unsigned month() {
        const auto found = std::ranges::find(kMonths, take(3));
        if (found == kMonths.end()) fits_ = false;
        return static_cast<unsigned>(found - kMonths.begin()) + 1;
    }
    std::chrono::seconds time() {
        const int hour = number(2);
        skip(":");
        const int minute = number(2);
        skip(":");
        const int second = number(2);
        if (hour > 23 || minute > 59 || second > 60) fits_ = false;
        return std::chrono::hours(hour) + std::chrono::minutes(minute) +
               std::chrono::seconds(second);
    }
    void skip(std::string_view text) {
        if (take(text.size()) != text) fits_ = false;
    }
    /// asctime pads days with a space.
    void fill_with_zero() {
        if (!rest_.starts_with(' ')) return;
        rest_.remove_prefix(1);
        padded_ = true;
    }
    int day() { return number(padded_ ? 1 : 2); }
    bool done() const { return fits_ && rest_.empty(); }

private:
    std::string_view take(std::size_t count) {
        if (count > rest_.size()) fits_ = false;
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::string_view rest_;
    bool fits_ = true, padded_ = false;
};

std::optional<SystemTime> made_of(const Reader& reader, int year, unsigned month, int day,
                                  std::chrono::seconds time) {
    const std::chrono::year_month_day date(
        std::chrono::year(year), std::chrono::month(month),
        std::chrono::day(static_cast<unsigned>(std::max(day, 0))));
    if (!reader.done() || !date.ok() || year < kFirstYear || year > kLastYear) return std::nullopt;
    return SystemTime(std::chrono::sys_days(date)) + time;
}

/// From the comma on; years of two digits begin with 1970.
std::optional<SystemTime> parse_with_comma(std::string_view text, std::string_view separator,
                                           std::size_t year_digits) {
    Reader reader(text);
    reader.skip(", ");
    const int day = reader.number(2);
    reader.skip(separator);
    const unsigned month = reader.month();
    reader.skip(separator);
    const int number = reader.number(year_digits);
    const int year = year_digits == 4 ? number : (number < 70 ? 2000 : 1900) + number;
    reader.skip(" ");
    const auto time = reader.time();
    reader.skip(" GMT");
    return made_of(reader, year, month, day, time);
}

}  // namespace

std::optional<SystemTime> parse_http_date(std::string_view text) {
    const std::size_t comma = text.find(',');
    // Sun, 06 Nov 1994 08:49:37 GMT
    if (comma == 3) return parse_with_comma(text.substr(comma), " ", 4);
    // Sunday, 06-Nov-94 08:49:37 GMT
    if (comma != std::string_view::npos) return parse_with_comma(text.substr(comma), "-", 2);
    if (text.size() < 4) return std::nullopt;
    Reader reader(text.substr(3));  // Sun Nov  6 08:49:37 1994
    reader.skip(" ");
    const unsigned month = reader.month();
    reader.skip(" ");
    reader.fill_with_zero();
    const int day = reader.day();
    reader.skip(" ");
    const auto time = reader.time();
    reader.skip(" ");
    const int year = reader.number(4);
    return made_of(reader, year, month, day, time);
}

}  // namespace crab::net
