// Dates of HTTP: whatever is taken for one lies between 1900 and 2200, on a whole second.

#include "net/codec/fuzz_check.hpp"
#include "net/codec/http_date.hpp"

#include <chrono>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crab;
    const auto date = net::parse_http_date({reinterpret_cast<const char*>(data), size});
    if (!date) return 0;
    const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(*date));
    net::require(
        day.ok() && day.year() >= std::chrono::year(1900) && day.year() <= std::chrono::year(2201),
        "the year can be held");
    net::require(*date == std::chrono::floor<std::chrono::seconds>(*date), "it is a whole second");
    return 0;
}
