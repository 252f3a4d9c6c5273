#include "hosts/cron/cron_scheduler.hpp"

#include "base/doubling_delay.hpp"
#include "base/log.hpp"

#include <algorithm>

namespace crab::cron {
namespace {

using namespace std::chrono_literals;

/// Longest sleep, because the wall clock may be set at any time.
constexpr Milliseconds kLongestSleep = 1s;
constexpr Milliseconds kOthersStore = 50ms;
constexpr DoublingDelay kStorePause{.first = 1s, .longest = 30s};  // of a store that is away

}  // namespace

CronScheduler::CronScheduler(Services services, const Executor& home, Options options)
    : services_(services),
      options_(std::move(options)),
      waiter_(std::make_shared<RemoteWaiter>(home, services.timers)),
      publisher_(services.store, services.pool, services.clock, services.timers, services.sink),
      tasks_(home) {}

void CronScheduler::start() {
    tasks_.spawn("cron firing", fire_jobs());
    tasks_.spawn("cron publishing", publisher_.run());
}

Task<void> CronScheduler::fire_jobs() {
    const TaskChain& chain = co_await this_chain();
    std::uint32_t failures = 0;
    while (!chain.cancelled()) {
        const auto passed =
            co_await pass(std::chrono::floor<Milliseconds>(services_.clock.system_now()));
        if (!passed) {
            log::warn("cron jobs wait for their store", {{"code", token_of(passed.error().code)},
                                                         {"reason", passed.error().message}});
            co_await waiter_->wait(services_.clock.steady_now() + kStorePause.after(++failures));
            continue;
        }
        failures = 0;
        if (passed->events > 0) publisher_.wake();
        if (!passed->more) co_await sleep_until(look_at(passed->next_wake));
    }
}

/// When it looks at the store again.
std::optional<SystemTime> CronScheduler::look_at(std::optional<SystemTime> wake) const {
    if (!options_.look_every) return wake;
    const SystemTime now = services_.clock.system_now();
    const SystemTime look = now + *options_.look_every;
    if (!wake) return look;
    // What is due and was left out, another node has taken and not stored yet.
    return std::clamp(*wake + options_.lag, now + kOthersStore, look);
}

Task<Result<CronPass>> CronScheduler::pass(SystemTime now) {
    const bool check_times = clock_was_wrong(now);
    // Captures nothing of this object: a stopping loop may destroy it while the pool works.
    auto work = [services = services_, options = options_, check_times, now]() -> Result<CronPass> {
        if (check_times) {
            if (auto done = forget_wrong_times(services.store, services.zones, now); !done)
                return fail(std::move(done.error()));
        }
        return fire_due_jobs(services.store, services.zones, services.ids, options, now);
    };
    auto passed = co_await services_.pool.run(std::move(work));
    if (passed) latest_ = check_times ? now : std::max(latest_, now);
    co_return passed;
}

/// Until `wake` by the wall clock, or until wake() is called; returns as well when the clock proves
/// to have been wrong.
Task<void> CronScheduler::sleep_until(std::optional<SystemTime> wake) {
    for (;;) {
        const SystemTime now = services_.clock.system_now();
        if ((wake && now >= *wake) || clock_was_wrong(now)) co_return;
        Deadline deadline = kNoDeadline;
        if (wake)
            deadline = services_.clock.steady_now() +
                       std::min<std::chrono::nanoseconds>(*wake - now, kLongestSleep);
        if (co_await waiter_->wait(deadline) != WaitEnd::kExpired) co_return;
    }
}

}  // namespace crab::cron
