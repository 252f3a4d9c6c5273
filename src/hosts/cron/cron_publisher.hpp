#pragma once

#include "base/clock.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/waiter.hpp"
#include "hosts/cron/cron_event_sink.hpp"
#include "hosts/cron/cron_store.hpp"

#include <cstddef>

namespace crab::cron {

/// Publishes fired events to the sink in order, at least once, always with the same content. Backs
/// off from 1 s to 60 s while the sink is not available; a rejected event is retried separately,
/// with delays up to an hour. Used on the thread of `timers`.
class CronPublisher {
public:
    CronPublisher(CronStore& store, BlockingPool& pool, const Clock& clock, TimerWheel& timers,
                  CronEventSink& sink);

    /// Runs until it is cancelled.
    Task<void> run();
    /// There are new events.
    void wake() { waiter_.wake(); }

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
    Waiter waiter_;
    std::uint32_t failures_ = 0;  ///< consecutive failures of sink or store
    Milliseconds asked_{0};       ///< the sink's retry_after
};

}  // namespace crab::cron
