#include "base/test_clock.hpp"
#include "store/sqlite/cron_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "hosts/cron/cron_pass.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;

const SystemTime kBegin = FakeClock().system_now();   // 20:26:40

/// A store with range(0) jobs, of which `due` are due at 20:27 and the others next year.
struct Jobs {
    Jobs(std::int64_t count, std::int64_t due)
        : store(std::move(
              CronStoreSqlite::open(folder / "cron.db", {.durability = Durability::kProcess})
                  .value())) {
        for (std::int64_t i = 0; i < count; ++i) {
            cron::CronJob job;
            job.job_id = fmt::format("{:036}", i);
            job.name = "bench";
            job.schedule = i < due ? "* * * * *" : "0 0 1 1 *";
            job.timezone = "Europe/Berlin";
            job.tenant = TenantId(fmt::format("tenant-{}", i / 1000));
            job.agent_id = "a";
            job.session_id = "s";
            job.created_at = job.updated_at = kBegin;
            job.next_run_at = i < due ? kBegin + 20s : kBegin + 24h * 200 + i * 1s;
            (void)store->create({.tenant = job.tenant,
                                 .principal = "p",
                                 .key = job.job_id,
                                 .content = {},
                                 .operation_id = "o",
                                 .at = kBegin},
                                job, 1000);
        }
        store.reset();
        // durable, as in service
        store = std::move(CronStoreSqlite::open(folder / "cron.db").value());
    }
    TestFolder folder;
    std::unique_ptr<CronStoreSqlite> store;
    cron::TimeZones zones;
    FakeClock clock;
    IdSource ids{clock, 1};
};

/// A look at the jobs when none of range(0) is due.
void BM_TickWithNothingDue(benchmark::State& state) {
    Jobs jobs(state.range(0), 0);
    for (auto _ : state) {
        const auto pass = cron::fire_due_jobs(*jobs.store, jobs.zones, jobs.ids, {}, kBegin + 1min);
        if (!pass || pass->events != 0) state.SkipWithError("unexpected firing");
    }
}
BENCHMARK(BM_TickWithNothingDue)->Arg(100)->Arg(100'000)->UseRealTime();

/// One minute in which range(1) of range(0) jobs fire and their events are accepted, with durable
/// commits.
void BM_FireSome(benchmark::State& state) {
    Jobs jobs(state.range(0), state.range(1));
    SystemTime now = kBegin + 20s;
    std::int64_t events = 0;
    for (auto _ : state) {
        bool more = true;
        while (more) {
            const auto pass = cron::fire_due_jobs(*jobs.store, jobs.zones, jobs.ids, {}, now);
            if (!pass) state.SkipWithError("firing failed");
            events += pass ? static_cast<std::int64_t>(pass->events) : 0;
            more = pass && pass->more;
        }
        for (;;) {
            const auto waiting = jobs.store->unpublished(now, 64);
            if (!waiting || waiting->empty()) break;
            std::vector<std::int64_t> numbers;
            for (const auto& event : *waiting) numbers.push_back(event.number);
            (void)jobs.store->settle(numbers, {});
        }
        now += 1min;
    }
    state.SetItemsProcessed(events);
}
BENCHMARK(BM_FireSome)
    ->Args({100, 1})
    ->Args({100'000, 1})
    ->Args({100'000, 10'000})
    ->UseRealTime()
    ->MinTime(1);

}  // namespace
}  // namespace crab::store::sqlite
