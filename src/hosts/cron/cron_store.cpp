#include "hosts/cron/cron_store.hpp"

namespace crab::cron {

// Where one process fires, nobody comes between the two.
Result<CronFired> CronStore::fire_due(SystemTime now, std::size_t limit, const Decide& decide) {
    const auto jobs = due(now, limit);
    if (!jobs) return fail(jobs.error());
    if (jobs->empty()) return CronFired{};
    const auto events = fire(decide(*jobs));
    if (!events) return fail(events.error());
    return CronFired{.jobs = jobs->size(), .events = *events};
}

}  // namespace crab::cron
