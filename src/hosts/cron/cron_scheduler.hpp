#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task_group.hpp"
#include "base/task/timer_wheel.hpp"
#include "base/task/waiter.hpp"
#include "hosts/cron/cron_event_sink.hpp"
#include "hosts/cron/cron_pass.hpp"
#include "hosts/cron/cron_publisher.hpp"
#include "hosts/cron/cron_store.hpp"
#include "hosts/cron/time_zones.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace crab::cron {

/// Fires due jobs and publishes their events. All state is in the store, so a new scheduler
/// continues where the last one stopped; jobs that are not due cost nothing. One per store, in a
/// fleet one per node. Used on the thread of `home` and `timers`; its arguments must outlive it and
/// the pool's work, and `ids` is not shared. Source: docs/protocols/rtp.md, section 11, "Firing".
class CronScheduler {
public:
    using Options = CronPassOptions;

    struct Services {
        CronStore& store;
        TimeZones& zones;
        BlockingPool& pool;
        const Clock& clock;
        TimerWheel& timers;
        IdSource& ids;
        CronEventSink& sink;
    };

    CronScheduler(Services services, const Executor& home, Options options);
    CronScheduler(Services services, const Executor& home)
        : CronScheduler(services, home, Options{}) {}

    void start();
    /// A job has been created. Thread-safe.
    void wake() { waiter_->wake(); }
    /// Stops and then calls `done`. Required before destruction.
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

private:
    Task<void> fire_jobs();
    Task<Result<CronPass>> pass(SystemTime now);
    std::optional<SystemTime> look_at(std::optional<SystemTime> wake) const;
    Task<void> sleep_until(std::optional<SystemTime> wake);
    bool clock_was_wrong(SystemTime now) const { return now < latest_ - kClockWasWrong; }

    Services services_;
    Options options_;
    std::shared_ptr<RemoteWaiter> waiter_;
    CronPublisher publisher_;
    /// The latest time seen; the initial value forces a store query
    SystemTime latest_ = SystemTime::max();
    TaskGroup tasks_;
};

}  // namespace crab::cron
