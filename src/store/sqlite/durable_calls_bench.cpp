#include "core/pipeline/pipeline.hpp"

#include "base/process/test_folder.hpp"
#include "base/task/spawn.hpp"
#include "core/call/function_host.hpp"
#include "core/call/test_tools.hpp"
#include "core/events/event_outbox.hpp"
#include "store/sqlite/audit_store_sqlite.hpp"
#include "store/sqlite/event_store_sqlite.hpp"
#include "store/sqlite/ledger_store_sqlite.hpp"

#include <benchmark/benchmark.h>

namespace crab::store::sqlite {
namespace {

/// Tells of each call as adapters/rtp does, in envelopes of an ordinary size.
class BenchEvents final : public core::CallEvents {
public:
    explicit BenchEvents(core::EventOutbox& outbox) : outbox_(outbox) {}
    bool wants(const core::Tool&) const override { return true; }
    std::unique_ptr<core::NewEvent> request(const core::AdmittedCall&,
                                            UuidText request_id) override {
        auto event =
            std::make_unique<core::NewEvent>(make(core::EventType::kToolCallRequested, request_id));
        event->step = core::CallStep::kRequested;
        return event;
    }
    bool requested(core::NewEvent request) override { return outbox_.post(std::move(request)); }
    void ended(const core::AdmittedCall&, UuidText request_id, UuidText event_id,
               const core::Outcome&, std::chrono::nanoseconds) override {
        core::NewEvent event = make(core::EventType::kToolCallCompleted, event_id);
        event.step = core::CallStep::kEnded;
        event.requested_id = request_id.view();
        outbox_.post_owed(std::move(event));
    }

private:
    static core::NewEvent make(core::EventType type, UuidText id) {
        core::NewEvent event;
        event.event = {.type = type,
                       .event_id = std::string(id.view()),
                       .tenant = "default",
                       .agent_id = "bench",
                       .session_id = "bench",
                       .addressee = {},
                       .envelope = std::string(600, 'x')};
        return event;
    }
    core::EventOutbox& outbox_;
};

enum class Told : std::uint8_t { kNo, kYes };

/// A gateway's inside on one loop with its files, and a tool with side effects that answers at
/// once. TMPDIR says which disk is measured.
struct Gateway {
    RealClock clock;
    TimerWheel timers{clock};
    TestFolder folder;
    BlockingPool pool{1}, ledger_pool{1};
    std::unique_ptr<LedgerStoreSqlite> store =
        std::move(LedgerStoreSqlite::open(folder / "ledger.db").value());
    core::LedgerJournal journal{*store, ledger_pool, clock};
    core::AuditLog audit{std::move(AuditStoreSqlite::open(folder / "audit.db").value()), pool,
                         clock};
    IdSource ids{clock, 1};
    core::Registry registry;
    Published<core::CallRules> rules{std::make_shared<const core::CallRules>(core::CallRules{
        .policy = core::policy_of(),
        .hooks = {},
        .rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{})})};
    core::Ledger ledger{clock, {}};
    core::EarlyCancels early_cancels;
    BlockingPool event_pool{1};
    std::unique_ptr<EventStoreSqlite> event_store =
        std::move(EventStoreSqlite::open(folder / "events.db").value());
    std::unique_ptr<core::EventOutbox> outbox =
        core::EventOutbox::open(*event_store, event_pool, pool, clock).value();
    BenchEvents events{*outbox};
    const Told told;
    asio::io_context io{1};
    core::Pipeline pipeline{{.clock = clock,
                             .registry = registry,
                             .rules = rules,
                             .ledger = ledger,
                             .early_cancels = early_cancels,
                             .audit = audit,
                             .journal = &journal,
                             .events = told == Told::kYes ? &events : nullptr},
                            io.get_executor(),
                            timers,
                            ids};
    core::PrincipalRef principal = core::principal_of("caller/bench");
    std::int64_t left = 0, failed = 0;

    Gateway(bool side_effects, Told events_too) : told(events_too) {
        core::ToolSpec spec;
        spec.side_effects = side_effects;
        auto tool = core::tool_of("act", "", ConnectionId{1}, "", spec);
        tool->host = std::make_shared<core::FunctionHost>(
            [](std::string_view args, const core::Principal&) -> core::Outcome {
                core::ToolResult result;
                result.content = args;
                return result;
            });
        registry.change(ConnectionId{1}, std::array<core::ToolRef, 1>{tool}, {});
    }

    Task<bool> call_again_and_again() {
        core::FrameSink sink;
        while (left-- > 0) {
            core::Call call;
            const UuidText id = ids.uuid_v7();
            call.id = id.view();
            call.tool = "act";
            call.args =
                R"({"text":"a few words of an ordinary length, as a model would write them",)"
                R"("n":42})";
            call.front = "bench";
            const auto end = co_await pipeline.run(core::AuthenticatedCall(call, principal), sink);
            if (!*end.outcome) ++failed;
        }
        co_return true;
    }
};

/// Calls of a tool through the whole pipeline, range(0) at a time.
void measure(benchmark::State& state, bool side_effects, Told told) {
    Gateway gateway(side_effects, told);
    constexpr std::int64_t kCalls = 20'000;
    std::int64_t done = 0;
    for (auto _ : state) {
        gateway.left = kCalls;
        gateway.io.restart();
        for (std::int64_t i = 0; i < state.range(0); ++i)
            spawn(gateway.io.get_executor(), gateway.call_again_and_again(),
                  [](std::exception_ptr, std::optional<bool>) {});
        gateway.io.run();
        done += kCalls;
    }
    if (gateway.failed > 0) state.SkipWithError("a call failed");
    state.SetItemsProcessed(done);
    const auto commits = static_cast<double>(gateway.journal.commits());
    state.counters["changes_per_commit"] =
        commits > 0 ? static_cast<double>(gateway.journal.changes()) / commits : 0;
}

void with_side_effects(benchmark::State& state) { measure(state, true, Told::kNo); }
BENCHMARK(with_side_effects)->Arg(16)->Arg(256)->UseRealTime()->Unit(benchmark::kMillisecond);

/// The same with an event before and after each; the first is in the call's record too.
void with_side_effects_and_events(benchmark::State& state) { measure(state, true, Told::kYes); }
BENCHMARK(with_side_effects_and_events)
    ->Arg(16)
    ->Arg(256)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// What is not recorded, for comparison.
void without(benchmark::State& state) { measure(state, false, Told::kNo); }
BENCHMARK(without)->Arg(256)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace crab::store::sqlite
