// Any text: the parser says yes or no, and what it accepts has an occurrence within twelve years,
// in every kind of zone.

#include "base/fuzz_check.hpp"
#include "hosts/cron/cron_occurrences.hpp"

#include <memory>

using crab::require;

namespace {

using namespace crab::cron;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto schedule = CronSchedule::parse({reinterpret_cast<const char*>(data), size});
    if (!schedule) return 0;
    const crab::SystemTime start(std::chrono::seconds(1'780'000'000));
    const CronOccurrences all(*schedule, TimeZone());
    const auto first = all.next_after(start);
    require(first && *first > start);
    const auto second = all.next_after(*first);
    require(second && *second > *first && all.latest(*first, *second) == *second);
    const auto wall = [](SysMinutes time) { return LocalMinutes(time.time_since_epoch()); };
    require(schedule->next_match(wall(*first), wall(*second)) == wall(*first));
    require(!schedule->next_match(wall(*first) + std::chrono::minutes(1), wall(*second)));
    return 0;
}
