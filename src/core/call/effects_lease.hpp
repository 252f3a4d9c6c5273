#pragma once

#include <cstdint>

namespace crab::core {

/// The right of one gateway of a fleet to begin effects: it lapses when the gateway cannot renew
/// it, and after that another gateway may take over what this one has recorded. Thread-safe.
class EffectsLease {
public:
    virtual ~EffectsLease() = default;
    /// Under which the gateway records now; another after each time it was fenced off.
    virtual std::uint32_t incarnation() const = 0;
    /// Whether what was recorded under this incarnation may be sent now.
    virtual bool holds(std::uint32_t incarnation) const = 0;
};

/// Whether one call that was recorded may still be sent. Without a fleet it always may. Copies are
/// good as long as the lease.
class RightToSend {
public:
    RightToSend() = default;
    RightToSend(const EffectsLease& lease, std::uint32_t incarnation)
        : lease_(&lease), incarnation_(incarnation) {}
    bool holds() const { return lease_ == nullptr || lease_->holds(incarnation_); }

private:
    const EffectsLease* lease_ = nullptr;
    std::uint32_t incarnation_ = 0;  ///< under which it was recorded
};

}  // namespace crab::core
