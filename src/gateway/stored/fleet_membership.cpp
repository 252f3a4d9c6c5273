#include "gateway/stored/fleet_membership.hpp"

#include "base/log.hpp"
#include "crypto/random.hpp"

#include <array>
#include <cstring>
#include <ctime>
#include <utility>

namespace crab::gateway {
namespace {

std::uint32_t random_boot() {
    std::array<std::uint8_t, 4> bytes{};
    std::uint32_t boot = 0;
    while (boot == 0) {
        crypto::fill_random(bytes);
        std::memcpy(&boot, bytes.data(), sizeof boot);
    }
    return boot;
}

}  // namespace

SteadyTime BootClock::steady_now() const {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return SteadyTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

FleetMembership::~FleetMembership() = default;

Result<void> FleetMembership::begin(Tables tables) {
    begun_ = clock_.steady_now();
    boot_ = random_boot();
    const auto name = tables.nodes->begin(tables.number, boot_);
    if (!name) return fail(name.error());
    begun_as_ = *name;
    last_ = name->incarnation;
    tables_ = std::move(tables);
    auto agreed = tables_.agree_on_keys(keys_->names());
    if (!agreed) leave();
    return agreed;
}

void FleetMembership::on_trust_changed(std::function<void()> told) {
    const std::scoped_lock lock(told_mutex_);
    told_ = std::move(told);
}

void FleetMembership::trust_changed() {
    const std::scoped_lock lock(told_mutex_);
    if (told_) told_();
}

void FleetMembership::leave() {
    if (!exists()) return;
    if (const auto left = tables_.nodes->leave(self()); !left)
        log::warn("the fleet was not told that this node leaves",
                  {{"reason", left.error().message}});
    tables_ = {};
}

fleet::Lease& FleetMembership::make_lease(const Executor& home, TimerWheel& timers,
                                          const Clock& of_timers) {
    pool_.emplace(1);
    kept_ = std::make_unique<fleet::Lease>(fleet::Lease::Uses{.table = *tables_.nodes,
                                                              .pool = *pool_,
                                                              .clock = clock_,
                                                              .home = home,
                                                              .timers = timers,
                                                              .of_timers = of_timers},
                                           begun_as_, boot_, begun_, [] {});
    lease_ = kept_.get();
    return *kept_;
}

void FleetMembership::end_lease() {
    if (!kept_) return;
    last_ = kept_->incarnation();
    lease_ = nullptr;
}

fleet::NodeName FleetMembership::self() const {
    if (const fleet::Lease* lease = lease_.load()) return lease->name();
    return {.number = begun_as_.number, .incarnation = last_.load()};
}

bool FleetMembership::is_silent(fleet::NodeName other) const {
    const fleet::Lease* lease = lease_.load();
    return lease != nullptr && lease->is_silent(other);
}

}  // namespace crab::gateway
