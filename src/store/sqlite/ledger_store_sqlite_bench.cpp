#include "base/process/test_folder.hpp"
#include "core/ledger/ledger_journal.hpp"
#include "store/sqlite/ledger_store_sqlite.hpp"

#include "base/task/spawn.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

/// Calls of one loop that are admitted and ended durably, range(0) at a time; a call's record has
/// 500 bytes, its outcome 100. TMPDIR says which disk is measured.
struct Caller {
    RealClock clock;
    TestFolder folder;
    std::unique_ptr<LedgerStoreSqlite> store =
        std::move(LedgerStoreSqlite::open(folder / "ledger.db").value());
    BlockingPool pool{1};
    core::LedgerJournal journal{*store, pool, clock};
    asio::io_context io{1};
    std::int64_t left = 0, number = 0, failed = 0;
    std::shared_ptr<const core::Outcome> outcome = std::make_shared<const core::Outcome>([] {
        core::ToolResult result;
        result.content = std::string(100, 'x');
        return result;
    }());

    Task<bool> call_again_and_again() {
        while (left-- > 0) {
            const std::string key =
                fmt::format("01990000-{:04x}-7000-8000-{:012x}", number & 0xffff, number);
            ++number;
            core::LedgerJournal::Admission admission{
                .content = {}, .may_run_again = false, .record = std::string(500, 'r')};
            const auto entry = co_await journal.admit(
                {.tenant = "default", .principal = "caller/bench", .key = key},
                std::move(admission), kNoDeadline);
            if (!entry || entry->status != core::LedgerStatus::kAdmitted ||
                !co_await journal.end(entry->ref, outcome, std::chrono::microseconds(50)))
                ++failed;
        }
        co_return true;
    }
};

void durable_calls(benchmark::State& state) {
    Caller caller;
    constexpr std::int64_t kCalls = 20'000;
    std::int64_t done = 0;
    for (auto _ : state) {
        caller.left = kCalls;
        caller.io.restart();
        for (std::int64_t i = 0; i < state.range(0); ++i)
            spawn(caller.io.get_executor(), caller.call_again_and_again(),
                  [](std::exception_ptr, std::optional<bool>) {});
        caller.io.run();
        done += kCalls;
    }
    if (caller.failed > 0) state.SkipWithError("a call was not recorded");
    state.SetItemsProcessed(done);
    state.counters["changes_per_commit"] = static_cast<double>(caller.journal.changes()) /
                                           static_cast<double>(caller.journal.commits());
}
BENCHMARK(durable_calls)->Arg(1)->Arg(16)->Arg(256)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace crab::store::sqlite
