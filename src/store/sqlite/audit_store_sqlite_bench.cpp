#include "store/sqlite/audit_store_sqlite.hpp"

#include "base/process/test_folder.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace crab::store::sqlite {
namespace {

/// `count` records of about 300 bytes; `batch` makes their call ids differ.
core::AuditBatch batch_of(std::int64_t batch, std::int64_t count) {
    core::AuditBatch made{.count = static_cast<std::uint32_t>(count)};
    for (std::int64_t i = 0; i < count; ++i) {
        made.records += fmt::format(
            R"({{"call_id":"0190-{}-{}","tool":"kitchen__camera","principal":"caller/bench",)"
            R"("filler":"{}"}})",
            batch, i, std::string(220, 'x'));
        made.records += '\n';
    }
    return made;
}

/// One durable append of range(0) records.
void BM_Append(benchmark::State& state) {
    TestFolder folder;
    const auto store = std::move(AuditStoreSqlite::open(folder / "audit.db").value());
    const auto batch = batch_of(0, state.range(0));
    for (auto _ : state) {
        if (!store->append(batch)) state.SkipWithError("append failed");
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Append)->Arg(1)->Arg(100)->Arg(5'000)->UseRealTime();

/// The store after range(0) batches of 100 records.
std::unique_ptr<AuditStoreSqlite> filled(const TestFolder& folder, std::int64_t batches) {
    auto store = std::move(
        AuditStoreSqlite::open(folder / "audit.db", {.durability = Durability::kProcess}).value());
    for (std::int64_t i = 0; i < batches; ++i) (void)store->append(batch_of(i, 100));
    return store;
}

/// The oldest call among range(0) * 100 records: everything is read.
void BM_FindOldestCall(benchmark::State& state) {
    TestFolder folder;
    const auto store = filled(folder, state.range(0));
    for (auto _ : state) {
        if (!store->find_call("0190-0-0", {}).value()) state.SkipWithError("not found");
    }
    state.SetItemsProcessed(state.iterations() * state.range(0) * 100);
}
BENCHMARK(BM_FindOldestCall)->Arg(100)->Arg(2'000)->UseRealTime();

void BM_VerifyChain(benchmark::State& state) {
    TestFolder folder;
    const auto store = filled(folder, state.range(0));
    for (auto _ : state) {
        if (!store->verify_chain({}).value().intact) state.SkipWithError("not intact");
    }
    state.SetItemsProcessed(state.iterations() * state.range(0) * 100);
}
BENCHMARK(BM_VerifyChain)->Arg(2'000)->UseRealTime();

}  // namespace
}  // namespace crab::store::sqlite
