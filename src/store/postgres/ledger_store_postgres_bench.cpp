#include "store/postgres/ledger_store_postgres.hpp"
#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"

#include <benchmark/benchmark.h>

#include <stdexcept>

namespace crab::store::postgres {
namespace {

/// A call is an admission with a record of 500 bytes, and an end with an outcome of 150; range(0)
/// calls share a batch, as they do under load. The server does not wait for the disk.
void BM_CallsInABatch(benchmark::State& state) {
    TestCluster* const cluster = TestCluster::find();
    if (cluster == nullptr) return state.SkipWithError("PostgreSQL is not installed");
    const ConnectionOptions options = cluster->new_database();
    if (!StoresPostgres::open({.database = options, .fleet = "bench"}))
        throw std::runtime_error("no schema");
    const auto store = LedgerStorePostgres::open(options, 1, "bench").value();
    core::ToolResult result;
    result.content.assign(150, 'x');
    const auto outcome = std::make_shared<const core::Outcome>(std::move(result));
    const SystemTime now{std::chrono::seconds(1'780'000'000)};
    std::int64_t key = 0;
    for (auto _ : state) {
        std::vector<core::LedgerChange> admissions, ends;
        for (std::int64_t i = 0; i < state.range(0); ++i)
            admissions.emplace_back(core::LedgerAdmission{.tenant = "home",
                                                          .principal = "caller/ann",
                                                          .key = std::to_string(++key),
                                                          .at = now,
                                                          .record = std::string(500, 'r')});
        for (const auto& answer : store->write(admissions))
            ends.emplace_back(core::LedgerEnd{answer.value().ref, outcome});
        for (const auto& answer : store->write(ends)) benchmark::DoNotOptimize(answer.value().ref);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_CallsInABatch)->Arg(1)->Arg(20)->Arg(200)->UseRealTime();

}  // namespace
}  // namespace crab::store::postgres
