#include "net/http/date_field.hpp"

#include <chrono>
#include <string_view>

#include <fmt/format.h>

namespace crab::net {

void DateField::write(SteadyTime now) {
    constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
    constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
    using namespace std::chrono;
    const SystemTime time = clock_.system_now();
    const auto second = floor<seconds>(time);
    const auto day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss clock_time(second - day);
    fmt::format_to_n(
        text_.data(), text_.size(), "Date: {}, {:02} {} {:04} {:02}:{:02}:{:02} GMT\r\n",
        kDays.substr(3 * weekday(day).c_encoding(), 3), static_cast<unsigned>(date.day()),
        kMonths.substr(3 * (static_cast<unsigned>(date.month()) - 1), 3),
        static_cast<int>(date.year()), clock_time.hours().count(), clock_time.minutes().count(),
        clock_time.seconds().count());
    valid_until_ = now + duration_cast<SteadyTime::duration>(second + seconds(1) - time);
}

}  // namespace crab::net
