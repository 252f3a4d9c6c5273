#pragma once

#include "base/task/blocking_pool.hpp"
#include "bus/fleet_keys.hpp"
#include "fleet/change_table.hpp"
#include "fleet/lease.hpp"
#include "fleet/link_table.hpp"
#include "fleet/node_table.hpp"
#include "trust/shared_trust.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::gateway {

/// A clock that goes on while the machine sleeps, as the nodes of a fleet count.
class BootClock final : public Clock {
public:
    SteadyTime steady_now() const override;
    SystemTime system_now() const override { return std::chrono::system_clock::now(); }
};

/// This process as a node of a fleet, in the fleet's database: ConfiguredStores begins and ends it,
/// FleetNode renews its lease between. Empty when there is no fleet. self() and is_silent() are
/// thread-safe.
class FleetMembership {
public:
    struct Tables {
        std::unique_ptr<fleet::NodeTable> nodes;
        std::unique_ptr<fleet::LinkTable> links;
        std::unique_ptr<fleet::ChangeTable> changes;
        std::unique_ptr<trust::SharedTrust> trust;
        std::uint16_t number = 0;  ///< of this node
        /// Errors: kConflict for keys that are not those of the nodes that run
        std::function<Result<void>(const std::vector<std::string>& names)> agree_on_keys;
    };
    ~FleetMembership();

    /// Before begin(): the keys of the fleet's file.
    void take_keys(bus::FleetKeys keys) { keys_.emplace(std::move(keys)); }
    const bus::FleetKeys& keys() const { return *keys_; }
    /// Begins an incarnation of the node, whose keys are those of the others then. Errors: those of
    /// NodeTable::begin() and of Tables::agree_on_keys.
    Result<void> begin(Tables tables);
    /// It writes nothing any more; blocks.
    void leave();

    bool exists() const { return tables_.nodes != nullptr; }
    fleet::LinkTable& links() { return *tables_.links; }
    fleet::ChangeTable& changes() { return *tables_.changes; }
    trust::SharedTrust& trust() { return *tables_.trust; }
    /// Who is told when this process has changed what the nodes share of trust; empty: nobody.
    void on_trust_changed(std::function<void()> told);
    /// A store of that has. Any thread.
    void trust_changed();
    std::uint32_t boot() const { return boot_; }
    /// On that loop; the lease is there until it is ended.
    fleet::Lease& make_lease(const Executor& home, TimerWheel& timers, const Clock& of_timers);
    fleet::Lease* lease() { return lease_.load(); }
    /// The tasks of the lease have stopped.
    void end_lease();

    fleet::NodeName self() const;
    bool is_silent(fleet::NodeName other) const;

private:
    const BootClock clock_;
    std::optional<bus::FleetKeys> keys_;
    std::mutex told_mutex_;
    std::function<void()> told_;  ///< under told_mutex_
    Tables tables_;
    std::uint32_t boot_ = 0;
    fleet::NodeName begun_as_;
    SteadyTime begun_;
    std::optional<BlockingPool> pool_;  ///< of the lease, which waits for nobody else
    std::unique_ptr<fleet::Lease> kept_;
    std::atomic<fleet::Lease*> lease_{nullptr};
    std::atomic<std::uint32_t> last_{0};  ///< incarnation, without a lease
};

}  // namespace crab::gateway
