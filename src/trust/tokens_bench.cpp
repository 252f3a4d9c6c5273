#include "trust/tokens.hpp"

#include "trust/test_token_store.hpp"

#include <benchmark/benchmark.h>

namespace crab::trust {
namespace {

/// One authentication while range(0) tokens exist.
void BM_AuthenticateOneOfMany(benchmark::State& state) {
    RealClock clock;
    TokenStoreMemory store;
    const auto tokens = std::move(Tokens::load(store, clock).value());
    Secret<std::string> token;
    for (std::int64_t i = 0; i < state.range(0); ++i)
        token = tokens->issue({.name = "caller", .roles = {core::Role::kCaller}}).value().token;
    for (auto _ : state) benchmark::DoNotOptimize(tokens->prove(token.reveal()));
}
BENCHMARK(BM_AuthenticateOneOfMany)->Arg(1)->Arg(10'000);

}  // namespace
}  // namespace crab::trust
