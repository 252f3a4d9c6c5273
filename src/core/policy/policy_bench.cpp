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

/// One decision about one call by range(0) entries that speak of its principal.
void BM_DecideCall(benchmark::State& state) {
    std::vector<PolicyRule> rules(static_cast<std::size_t>(state.range(0)));
    for (std::size_t i = 0; i < rules.size(); ++i) {
        rules[i].principal = Glob("caller/*");
        rules[i].call_deny = globs({"admin.*"});
        rules[i].call_allow = globs({"disk*", "camera"});
    }
    const auto policy = policy_of(std::move(rules));
    const auto tool = tool_of("camera", "phone", ConnectionId{1});
    const PrincipalRef principal = principal_of("caller/ann");
    for (auto _ : state)
        benchmark::DoNotOptimize(policy->decide_call(*principal, *tool, std::nullopt, "default"));
}
BENCHMARK(BM_DecideCall)->Arg(0)->Arg(1)->Arg(10)->Arg(100);

}  // namespace
}  // namespace crab::core
