#pragma once

#include "base/clock.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/waiter.hpp"
#include "hosts/cron/cron_event_sink.hpp"
#include "hosts/cron/cron_store.hpp"

#include <cstddef>

namespace crab::cron {

/// Hands fired events to the sink in the order of firing until each is accepted: at least once,
/// always with the same content. While the sink takes nothing it waits, 1 s at first and 60 s at
/// most; an event that is refused by itself waits alone, up to an hour. Used on the thread of
/// `timers`.
class CronPublisher {
public:
    CronPublisher(CronStore& store, BlockingPool& pool, const Clock& clock, TimerWheel& timers,
                  CronEventSink& sink);

    /// Until it is cancelled.
    Task<void> run();
    /// There are new events.
    void wake() { bell_.wake(); }

private:
    struct Round {
        std::vector<std::int64_t> accepted;
        std::vector<EventDelay> refused;
        bool sink_is_away = false;
    };
    Task<Result<std::size_t>> publish_some();
    Task<Round> offer(std::vector<UnpublishedEvent> events);

    CronStore& store_;
    BlockingPool& pool_;
    const Clock& clock_;
    CronEventSink& sink_;
    Waiter bell_;
    std::uint32_t failures_ = 0;  ///< in a row, of a sink or store that is away
    Milliseconds asked_{0};       ///< the pause that the sink asked for
};

}  // namespace crab::cron
