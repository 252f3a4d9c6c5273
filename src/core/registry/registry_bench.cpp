#include "core/registry/registry.hpp"

#include "core/call/test_tools.hpp"
#include "core/policy/policy.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::size_t kToolsOfADevice = 20;

/// A registry of that many tools: devices of twenty, the names of ten of which other devices offer
/// as well.
class Filled {
public:
    explicit Filled(std::size_t tools) {
        const ToolRef like = tool_of("like");
        for (std::size_t device = 0; device * kToolsOfADevice < tools; ++device) {
            const ConnectionId connection{device + 1};
            std::vector<ToolRef> own;
            for (std::size_t i = 0; i < kToolsOfADevice; ++i) {
                const std::string name =
                    i % 2 == 0 ? fmt::format("tool.{}.{}", device, i) : fmt::format("shared.{}", i);
                own.push_back(make(*like, name, fmt::format("device-{}", device), connection));
                if (i % 2 == 0) names.push_back(name);
                qualified.push_back(own.back()->unique_name);
            }
            registry.change(connection, own, {});
        }
        // In random order, one behind the other in memory: the name that a call brings is at hand,
        // the tool it means is not.
        std::mt19937 random(1);
        for (auto* each : {&names, &qualified}) {
            std::ranges::shuffle(*each, random);
            *each = std::vector<std::string>(each->begin(), each->end());
        }
        extra = make(*like, "extra.tool", "device-0", ConnectionId{1});
    }
    View view() const {
        return {.principal = principal.get(),
                .policy = policy.get(),
                .tenant = {},
                .prefer_source = {},
                .prefer = {}};
    }

    /// One for each size: filling takes longer than measuring.
    static Filled& of(std::int64_t tools) {
        static std::map<std::int64_t, std::unique_ptr<Filled>> made;
        auto& one = made[tools];
        if (!one) one = std::make_unique<Filled>(static_cast<std::size_t>(tools));
        return *one;
    }

    Registry registry;
    std::vector<std::string> names, qualified;
    ToolRef extra;

private:
    static ToolRef make(const Tool& like, std::string name, std::string slug,
                        ConnectionId connection) {
        auto tool = std::make_shared<Tool>(like);
        tool->spec.name = std::move(name);
        tool->set_source({.kind = SourceKind::kDevice,
                          .name = std::move(slug),
                          .owner = {},
                          .connection = connection});
        return tool;
    }
    PrincipalRef principal = principal_of("caller/bench");
    std::shared_ptr<const Policy> policy = policy_of();
};

/// What a call pays: a plain name, at random among all.
void resolve(benchmark::State& state) {
    Filled& filled = Filled::of(state.range(0));
    Published<RegistrySnapshot>::Reader reader(filled.registry.published());
    const View view = filled.view();
    std::size_t at = 0;
    for (auto _ : state) {
        at = (at + 1) % filled.names.size();
        benchmark::DoNotOptimize(reader.get()->resolve(view, filled.names[at]));
    }
}
BENCHMARK(resolve)->Arg(1'000)->Arg(100'000);

void resolve_qualified(benchmark::State& state) {
    Filled& filled = Filled::of(state.range(0));
    Published<RegistrySnapshot>::Reader reader(filled.registry.published());
    const View view = filled.view();
    std::size_t at = 0;
    for (auto _ : state) {
        at = (at + 1) % filled.qualified.size();
        benchmark::DoNotOptimize(reader.get()->resolve(view, filled.qualified[at]));
    }
}
BENCHMARK(resolve_qualified)->Arg(1'000)->Arg(100'000);

/// A hundred tools from a random place on.
void list_page(benchmark::State& state) {
    Filled& filled = Filled::of(state.range(0));
    const SnapshotRef snapshot = filled.registry.snapshot();
    const View view = filled.view();
    std::size_t at = 0;
    for (auto _ : state) {
        at = (at + 1) % filled.names.size();
        benchmark::DoNotOptimize(snapshot->list(view, filled.names[at], 100));
    }
}
BENCHMARK(list_page)->Arg(1'000)->Arg(100'000);

/// A page in the middle of the names that every device offers.
void list_page_of_shared_names(benchmark::State& state) {
    Filled& filled = Filled::of(state.range(0));
    const SnapshotRef snapshot = filled.registry.snapshot();
    const View view = filled.view();
    for (auto _ : state) benchmark::DoNotOptimize(snapshot->list(view, "shared", 100));
}
BENCHMARK(list_page_of_shared_names)->Arg(1'000)->Arg(100'000);

/// One tool more and the same tool less.
void register_one(benchmark::State& state) {
    Filled& filled = Filled::of(state.range(0));
    const std::array add{filled.extra};
    const std::array<std::string, 1> drop{filled.extra->spec.name};
    for (auto _ : state) {
        filled.registry.change(ConnectionId{1}, add, {});
        filled.registry.change(ConnectionId{1}, {}, drop);
    }
    state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(register_one)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace crab::core
