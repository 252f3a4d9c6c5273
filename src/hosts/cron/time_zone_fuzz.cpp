// Any bytes as a time zone file: accepted or refused, and what is accepted has one offset at any
// time and lets schedules go on.

#include "base/fuzz_check.hpp"
#include "hosts/cron/cron_occurrences.hpp"

#include <memory>

using crab::require;

namespace {

using namespace crab::cron;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    (void)PosixTimeZone::parse(bytes);
    const auto parsed = TimeZone::parse(bytes);
    if (!parsed) return 0;
    using std::chrono::seconds;
    using std::chrono::sys_seconds;
    for (const sys_seconds time :
         {sys_seconds::min(), sys_seconds(seconds(-100'000'000'000)), sys_seconds(),
          sys_seconds(seconds(1'780'000'000)), sys_seconds(seconds(100'000'000'000)),
          sys_seconds::max() - seconds(1)}) {
        const ZoneSpan span = parsed->span_at(time);
        require(span.begin <= time && time < span.end);
        require(parsed->span_at(span.begin) == span &&
                parsed->span_at(span.end - seconds(1)) == span);
    }
    const auto zone = std::make_shared<const TimeZone>(*parsed);
    for (const char* text : {"30 2 * * *", "*/7 * 1 * 1"}) {
        const CronOccurrences all(CronSchedule::parse(text).value(), zone);
        crab::SystemTime time(seconds(1'790'000'000));
        for (int i = 0; i < 4; ++i) {
            const auto next = all.next_after(time);
            require(next && *next > time);
            time = *next;
        }
    }
    return 0;
}
