#include "base/test_clock.hpp"
#include "hosts/cron/cron_occurrences.hpp"

#include "hosts/cron/time_zones.hpp"

#include <benchmark/benchmark.h>

namespace crab::cron {
namespace {

void next_after(benchmark::State& state, const char* schedule, const char* zone) {
    TimeZones zones;
    const CronOccurrences all(CronSchedule::parse(schedule).value(), zones.find(zone).value());
    const SystemTime begin = FakeClock().system_now();
    SystemTime time = begin;
    for (auto _ : state) {
        time = *all.next_after(time);
        if (time > begin + std::chrono::years(20)) time = begin;
    }
}
BENCHMARK_CAPTURE(next_after, every_minute, "* * * * *", "UTC");
BENCHMARK_CAPTURE(next_after, weekday_mornings, "30 7 * * MON-FRI", "Europe/Berlin");
BENCHMARK_CAPTURE(next_after, leap_days, "0 0 29 2 *", "America/New_York");

void BM_ParseSchedule(benchmark::State& state) {
    for (auto _ : state)
        benchmark::DoNotOptimize(CronSchedule::parse("*/5 8-18/2 1,15 JAN-JUN MON-FRI"));
}
BENCHMARK(BM_ParseSchedule);

void BM_FindZone(benchmark::State& state) {
    TimeZones zones;
    for (auto _ : state) benchmark::DoNotOptimize(zones.find("Europe/Berlin"));
}
BENCHMARK(BM_FindZone);

}  // namespace
}  // namespace crab::cron
