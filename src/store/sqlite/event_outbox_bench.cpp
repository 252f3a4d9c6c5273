#include "core/events/event_outbox.hpp"

#include "base/id_source.hpp"
#include "base/process/test_folder.hpp"
#include "base/task/spawn.hpp"
#include "store/sqlite/event_store_sqlite.hpp"

#include <benchmark/benchmark.h>

namespace crab::store::sqlite {
namespace {

/// An outbox on a file, and one loop of publishers and streams. TMPDIR says which disk is measured.
struct Outbox {
    RealClock clock;
    TimerWheel timers{clock};
    TestFolder folder;
    BlockingPool writer{1}, pool{1};
    std::unique_ptr<EventStoreSqlite> store =
        std::move(EventStoreSqlite::open(folder / "events.db").value());
    asio::io_context io{1};
    std::unique_ptr<core::EventOutbox> outbox =
        std::move(core::EventOutbox::open(*store, writer, pool, clock).value());
    IdSource ids{clock, 1};
    std::int64_t left = 0, failed = 0;

    core::NewEvent event() {
        core::NewEvent made;
        made.event = {.type = core::EventType::kChannelMessageReceived,
                      .event_id = std::string(ids.uuid_v7().view()),
                      .tenant = "default",
                      .agent_id = "bench",
                      .session_id = "bench",
                      .addressee = {},
                      .envelope = std::string(600, 'x')};
        made.publisher = "listener/bench";
        return made;
    }
    Task<bool> publish_again_and_again() {
        while (left-- > 0) {
            const auto receipt = co_await outbox->publish(event(), kNoDeadline);
            if (!receipt) ++failed;
        }
        co_return true;
    }
    void publish(std::int64_t events, std::int64_t at_once) {
        left = events;
        io.restart();
        for (std::int64_t i = 0; i < at_once; ++i)
            spawn(io.get_executor(), publish_again_and_again(),
                  [](std::exception_ptr, std::optional<bool>) {});
        io.run();
    }
    /// Reads all events as a stream does, 256 at a time.
    Task<bool> read_all() {
        for (core::EventPosition at = outbox->first() - 1; at < outbox->last();) {
            const auto events = co_await outbox->read(at, 256);
            if (!events || events->empty()) co_return false;
            at = events->back()->position;
        }
        co_return true;
    }
};

/// Events from a peer, durable before each is answered, range(0) at a time.
void publish(benchmark::State& state) {
    Outbox outbox;
    constexpr std::int64_t kEvents = 10'000;
    for (auto _ : state) outbox.publish(kEvents, state.range(0));
    if (outbox.failed > 0) state.SkipWithError("an event was refused");
    state.SetItemsProcessed(state.iterations() * kEvents);
    state.counters["events_per_commit"] = static_cast<double>(outbox.outbox->accepted()) /
                                          static_cast<double>(outbox.outbox->commits());
}
BENCHMARK(publish)->Arg(16)->Arg(256)->UseRealTime()->Unit(benchmark::kMillisecond);

/// What a stream reads: from memory when all of it is there, else from the file.
void deliver(benchmark::State& state) {
    Outbox outbox;
    outbox.publish(state.range(0), 256);
    for (auto _ : state) {
        outbox.io.restart();
        spawn(outbox.io.get_executor(), outbox.read_all(),
              [&](std::exception_ptr, std::optional<bool> all) {
                  outbox.failed += !all.value_or(false);
              });
        outbox.io.run();
    }
    if (outbox.failed > 0) state.SkipWithError("an event is missing");
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(deliver)->Arg(5'000)->Arg(50'000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace crab::store::sqlite
