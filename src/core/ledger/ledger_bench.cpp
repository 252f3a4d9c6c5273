#include "core/ledger/ledger.hpp"

#include "base/task/timer_wheel.hpp"

#include <charconv>
#include <cstring>

#include <benchmark/benchmark.h>

namespace crab::core {
namespace {

/// One call admitted and finished while the ledger is full, so that each new outcome drops an old
/// one; range(0) bytes of result.
void admit_and_finish_in_a_full_ledger(benchmark::State& state) {
    const RealClock clock;
    asio::io_context io{1};
    TimerWheel timers{clock};
    Ledger ledger{clock, Ledger::Options{}};
    ToolResult result;
    result.content.assign(static_cast<std::size_t>(state.range(0)), 'x');
    const auto outcome = std::make_shared<const Outcome>(std::move(result));
    char name[24] = "call-";
    std::uint64_t number = 0;
    const auto one = [&] {
        const char* end = std::to_chars(name + 5, name + sizeof name, number++).ptr;
        const std::string_view key(name, static_cast<std::size_t>(end - name));
        auto answer = ledger.admit({.tenant = "default", .principal = "caller/bench", .key = key},
                                   7, io.get_executor(), timers);
        answer.ticket.finish(outcome);
    };
    for (std::size_t before = 0;
         before < 2 * (std::size_t{64} << 20) / (150 + outcome->value().content.size()); ++before)
        one();
    for (auto _ : state) one();
    state.counters["entries"] = static_cast<double>(ledger.entries());
}
BENCHMARK(admit_and_finish_in_a_full_ledger)->Arg(0)->Arg(200)->Arg(4'000);

}  // namespace
}  // namespace crab::core
