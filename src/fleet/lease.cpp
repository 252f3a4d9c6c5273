#include "fleet/lease.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <utility>

namespace crab::fleet {
namespace {

constexpr std::size_t kKeptIncarnations = 64;

std::int64_t ticks(SteadyTime time) {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

}  // namespace

Lease::Lease(Uses uses, NodeName name, std::uint32_t boot, SteadyTime begun,
             std::function<void()> on_fenced)
    : uses_(std::move(uses)),
      number_(name.number),
      boot_(boot),
      on_fenced_(std::move(on_fenced)),
      incarnation_(name.incarnation),
      renewed_(ticks(begun)),
      tasks_(uses_.home) {}

bool Lease::holds(std::uint32_t incarnation) const {
    const std::chrono::nanoseconds since(ticks(uses_.clock.steady_now()) - renewed_.load());
    return since < kHolds && incarnation == incarnation_.load();
}

bool Lease::is_silent(NodeName other) const {
    const SteadyTime now = uses_.clock.steady_now();
    const std::scoped_lock lock(mutex_);
    const auto known = over_.find(other.number);
    if (known == over_.end()) return false;
    return std::ranges::any_of(known->second, [&](const Over& over) {
        return over.incarnation >= other.incarnation && over.read_at + kSilence <= now;
    });
}

Task<void> Lease::keep() {
    const TaskChain& chain = co_await this_chain();
    Waiter pause(uses_.timers);
    while (!chain.cancelled()) {
        const SteadyTime begun = uses_.of_timers.steady_now();
        if (co_await renew())
            co_await watch_others();
        else
            watched_.clear();  // nobody is fenced off by one who could not renew meanwhile
        co_await pause.wait(begun + kEvery);
    }
}

Task<bool> Lease::renew() {
    const SteadyTime begun = uses_.clock.steady_now();
    const std::int64_t before = renewed_.load();
    const NodeName self = name();
    NodeTable& table = uses_.table;
    const auto renewed = co_await uses_.pool.run([&table, self] { return table.renew(self); });
    if (!renewed) {
        log::warn("the lease of this node was not renewed", {{"reason", renewed.error().message}});
        co_return false;
    }
    if (!*renewed) {
        co_await begin_again();
        co_return false;
    }
    renewed_ = ticks(begun);
    co_return std::chrono::nanoseconds(ticks(begun) - before) <= kHolds;
}

/// Fenced off: what was recorded before is not sent any more.
Task<void> Lease::begin_again() {
    const SteadyTime begun = uses_.clock.steady_now();
    NodeTable& table = uses_.table;
    const auto number = number_;
    const auto boot = boot_;
    const auto next =
        co_await uses_.pool.run([&table, number, boot] { return table.begin(number, boot); });
    if (!next) {
        log::error("this node was fenced off and cannot begin again",
                   {{"reason", next.error().message}});
        co_return;
    }
    log::warn("this node was fenced off by another, and begins again",
              {{"incarnation", std::to_string(next->incarnation)}});
    incarnation_ = next->incarnation;
    renewed_ = ticks(begun);
    on_fenced_();
}

Task<void> Lease::watch_others() {
    NodeTable& table = uses_.table;
    const auto rows = co_await uses_.pool.run([&table] { return table.read(); });
    if (!rows) {
        watched_.clear();
        co_return;
    }
    const SteadyTime now = uses_.clock.steady_now();
    for (const NodeRow& row : *rows) {
        note(row, now);
        if (row.name.number == number_ || !row.lives() || !stands_still(row, now)) continue;
        const auto fenced =
            co_await uses_.pool.run([&table, row] { return table.fence(row.name, row.beats); });
        if (fenced && *fenced)
            log::warn("a node that does not renew its lease was fenced off",
                      {{"node", std::to_string(row.name.number)}});
    }
}

/// Remembers which incarnations are over, from when they were first read.
void Lease::note(const NodeRow& row, SteadyTime now) {
    const std::uint32_t over = row.lives() ? row.name.incarnation - 1 : row.name.incarnation;
    if (over == 0) return;
    const std::scoped_lock lock(mutex_);
    auto& known = over_[row.name.number];
    if (!known.empty() && known.back().incarnation >= over) return;
    known.push_back({over, now});
    if (known.size() > kKeptIncarnations) known.erase(known.begin());
}

bool Lease::stands_still(const NodeRow& row, SteadyTime now) {
    Watched& watched = watched_[row.name.number];
    if (watched.name != row.name || watched.beats != row.beats)
        watched = {.name = row.name, .beats = row.beats, .since = now, .reads = 0};
    ++watched.reads;
    return watched.reads >= kReads && watched.since + kStandsStill <= now;
}

}  // namespace crab::fleet
