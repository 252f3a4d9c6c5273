#include "core/policy/policy.hpp"

#include "core/call/test_tools.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace crab::core {
namespace {

/// One decision about one event for one peer, with range(0) peers that have entries.
void BM_DecideAction(benchmark::State& state) {
    std::vector<PeerRule> peers;
    for (int i = 0; i < state.range(0); ++i) {
        peers.push_back({.id = fmt::format("subscriber/{}", i),
                         .role = {},
                         .tenants = globs({"harbour"}),
                         .allow = globs({"events.subscribe:tool.call.*"}),
                         .deny = globs({"events.publish:*"})});
    }
    const auto policy = Policy::make({}, std::move(peers)).value();
    Principal principal = *principal_of("subscriber/0", {Role::kSubscriber});
    principal.proof = Proof::kCertificate;
    for (auto _ : state)
        benchmark::DoNotOptimize(
            policy->decide_action(principal, "events.subscribe:tool.call.completed", "harbour"));
}
BENCHMARK(BM_DecideAction)->Arg(1)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace crab::core
