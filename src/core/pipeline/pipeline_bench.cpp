#include "core/pipeline/pipeline.hpp"

#include "core/audit/audit_store_none.hpp"

#include "base/task/test_loop.hpp"
#include "core/call/function_host.hpp"
#include "core/call/test_tools.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#include <benchmark/benchmark.h>

namespace {
std::uint64_t allocations = 0;   // of the measuring thread, which is the only one that counts
thread_local bool counting = false;
}  // namespace

void* operator new(std::size_t size) {
    if (counting) ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace crab::core {
namespace {

/// A gateway's inside on one loop, with the real clock and one built-in tool that answers at once.
struct Gateway {
    RealClock clock;
    TimerWheel timers{clock};
    asio::io_context io{1};
    BlockingPool pool{1};
    IdSource ids{clock, 1};
    Registry registry;
    Published<CallRules> rules{std::make_shared<const CallRules>(
        CallRules{.policy = policy_of(),
                  .hooks = {},
                  .rates = std::make_shared<RateLimits>(std::vector<RateRule>{})})};
    Ledger ledger{clock, {}};
    EarlyCancels early_cancels;
    AuditLog audit{std::make_shared<AuditStoreNone>(), pool, clock};
    Pipeline pipeline{{.clock = clock,
                       .registry = registry,
                       .rules = rules,
                       .ledger = ledger,
                       .early_cancels = early_cancels,
                       .audit = audit},
                      io.get_executor(),
                      timers,
                      ids};
    PrincipalRef principal = principal_of("caller/bench");

    Gateway() {
        ToolSpec spec;
        spec.input_schema =
            R"({"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}},)"
            R"("required":["text"]})";
        auto tool = tool_of("echo", "", ConnectionId{1}, "", spec);
        tool->host =
            std::make_shared<FunctionHost>([](std::string_view args, const Principal&) -> Outcome {
                ToolResult result;
                result.kind = ContentKind::kJson;
                result.content = args;
                return result;
            });
        registry.change(ConnectionId{1}, std::array<ToolRef, 1>{tool}, {});
    }
};

constexpr std::string_view kArgs =
    R"({"text":"a few words of an ordinary length, as a model would write them","n":42,)"
    R"("more":{"a":[1,2,3]}})";

Task<bool> call_again_and_again(Gateway& gateway, benchmark::State& state, bool with_id) {
    FrameSink sink;
    std::uint64_t number = 0;
    for (auto _ : state) {
        Call call;
        UuidText id;
        if (with_id) {
            id = gateway.ids.uuid_v7(++number);
            call.id = id.view();
        }
        call.tool = "echo";
        call.args = kArgs;
        call.front = "bench";
        counting = true;
        auto end = co_await gateway.pipeline.run(AuthenticatedCall(call, gateway.principal), sink);
        counting = false;
        if (!*end.outcome) state.SkipWithError("the call failed");
    }
    co_return true;
}

void measure(benchmark::State& state, bool with_id) {
    Gateway gateway;
    allocations = 0;
    spawn(gateway.io.get_executor(), call_again_and_again(gateway, state, with_id),
          [](std::exception_ptr, std::optional<bool>) {});
    gateway.io.run();
    state.counters["allocations"] = benchmark::Counter(
        static_cast<double>(allocations) /
        static_cast<double>(std::max<benchmark::IterationCount>(state.iterations(), 1)));
}

/// One call whose id the gateway makes, so that the ledger need not know it.
void call_once(benchmark::State& state) { measure(state, false); }
BENCHMARK(call_once);

/// One call with the caller's own id: admitted, kept for repeats.
void call_with_id(benchmark::State& state) { measure(state, true); }
BENCHMARK(call_with_id);

/// The same id again: replayed from the ledger.
void replay(benchmark::State& state) {
    Gateway gateway;
    spawn(
        gateway.io.get_executor(),
        [](Gateway& gateway, benchmark::State& state) -> Task<bool> {
            FrameSink sink;
            for (auto _ : state) {
                Call call;
                call.id = "always-the-same";
                call.tool = "echo";
                call.args = kArgs;
                call.front = "bench";
                benchmark::DoNotOptimize(co_await gateway.pipeline.run(
                    AuthenticatedCall(call, gateway.principal), sink));
            }
            co_return true;
        }(gateway, state),
        [](std::exception_ptr, std::optional<bool>) {});
    gateway.io.run();
}
BENCHMARK(replay);

}  // namespace
}  // namespace crab::core
