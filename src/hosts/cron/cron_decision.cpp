#include "hosts/cron/cron_decision.hpp"

#include <algorithm>

namespace crab::cron {
namespace {

using std::chrono::minutes;

/// After the end of the calendar a job sleeps on.
SystemTime next_run(const CronOccurrences& occurrences, SystemTime time) {
    const auto next = occurrences.next_after(time);
    return next ? SystemTime(*next) : time + std::chrono::days(4383);
}

/// The last of the occurrences from `first` to `until`, with their number.
CronTick missed_tick(const CronOccurrences& occurrences, SysMinutes first, SysMinutes until) {
    const SysMinutes last = occurrences.latest(first, until);
    std::uint32_t count = 1;
    for (SysMinutes at = first; at < last && count < kMostCounted; ++count)
        at = occurrences.next_after(at).value_or(last);
    return {.scheduled_for = last, .missed_count = count};
}

}  // namespace

CronDecision decide(const CronOccurrences& occurrences, MissedTickPolicy policy, SystemTime due,
                    SystemTime now) {
    CronDecision decision{.ticks = {}, .next_run_at = due};
    const SystemTime on_time = now - kOnTime;
    if (due < on_time) {
        switch (policy) {
            case MissedTickPolicy::kSkip: break;
            case MissedTickPolicy::kRunOnce: {
                const SysMinutes until = std::chrono::ceil<minutes>(on_time) - minutes(1);
                decision.ticks.push_back(
                    missed_tick(occurrences, std::chrono::floor<minutes>(due), until));
                break;
            }
        }
        decision.next_run_at = next_run(occurrences, on_time - std::chrono::nanoseconds(1));
    }
    while (decision.next_run_at <= now) {
        decision.ticks.push_back({.scheduled_for = decision.next_run_at, .missed_count = 0});
        decision.next_run_at = next_run(occurrences, decision.next_run_at);
    }
    return decision;
}

}  // namespace crab::cron
