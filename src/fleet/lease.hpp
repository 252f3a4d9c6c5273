#pragma once

#include "base/clock.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task_group.hpp"
#include "core/call/effects_lease.hpp"
#include "fleet/node_table.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace crab::fleet {

/// The lease of this node: renews it, fences off those that do not renew theirs, and says whose
/// records may be taken over. Effects stop kHolds after the beginning of the last renewal that
/// succeeded; no clocks are compared. Runs on one loop; what it answers is thread-safe.
/// Source: docs/protocols/fleet.md, section 3, "Node lease".
class Lease final : public core::EffectsLease {
public:
    static constexpr std::chrono::seconds kEvery{2};
    static constexpr std::chrono::seconds kHolds{4};
    /// So long another's `beats` stand still before it is fenced off, over kReads reads
    static constexpr std::chrono::seconds kStandsStill{6};
    static constexpr int kReads = 4;
    /// So long after this node has read a fence, the one fenced off sends nothing any more
    static constexpr std::chrono::seconds kSilence{5};

    struct Uses {
        NodeTable& table;
        BlockingPool& pool;
        /// One that goes on while the machine sleeps
        const Clock& clock;
        Executor home;
        TimerWheel& timers;
        const Clock& of_timers;  ///< by which `timers` count
    };
    /// `name` from NodeTable::begin(), which began at `begun`. `on_fenced`, on the loop: this node
    /// has a new incarnation.
    Lease(Uses uses, NodeName name, std::uint32_t boot, SteadyTime begun,
          std::function<void()> on_fenced);

    void start() { tasks_.spawn("lease of this node", keep()); }
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

    std::uint32_t incarnation() const override { return incarnation_.load(); }
    bool holds(std::uint32_t incarnation) const override;
    NodeName name() const { return {number_, incarnation_.load()}; }
    /// Whether that incarnation of another node, or of this one, sends nothing any more: this node
    /// has read kSilence ago that it was fenced off, left or followed by another.
    bool is_silent(NodeName other) const;

private:
    /// Another node as it was last read.
    struct Watched {
        NodeName name;
        std::uint64_t beats = 0;
        SteadyTime since;
        int reads = 0;
    };
    struct Over {
        std::uint32_t incarnation = 0;  ///< the newest that is
        SteadyTime read_at;
    };

    Task<void> keep();
    Task<bool> renew();
    Task<void> begin_again();
    Task<void> watch_others();
    void note(const NodeRow& row, SteadyTime now);
    bool stands_still(const NodeRow& row, SteadyTime now);

    Uses uses_;
    const std::uint16_t number_;
    const std::uint32_t boot_;
    const std::function<void()> on_fenced_;
    std::atomic<std::uint32_t> incarnation_;
    /// Of the last renewal that succeeded, on the steady clock in nanoseconds
    std::atomic<std::int64_t> renewed_;
    std::map<std::uint16_t, Watched> watched_;
    mutable std::mutex mutex_;
    std::map<std::uint16_t, std::vector<Over>> over_;  ///< by node, ascending
    TaskGroup tasks_;
};

}  // namespace crab::fleet
