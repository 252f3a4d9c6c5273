#pragma once

#include "adapters/rtp/pairing/pairing_dialer.hpp"
#include "base/task/task_group.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <memory>

namespace crab::rtp {

/// Renews the certificates of active peers when less than 30 days remain: checks once a day, and
/// after a failure once an hour. Lives on the dialer's loop. Source: docs/protocols/rtp.md, section
/// 6.
class PeerRenewals {
public:
    /// Renews one peer; the outcome is reported elsewhere.
    using Renew = std::function<Task<bool>(trust::PeerName)>;

    /// `peers` outlives this.
    PeerRenewals(net::EventLoop& loop, const trust::Peers& peers, Renew renew)
        : loop_(loop), peers_(peers), renew_(std::move(renew)), tasks_(loop.executor()) {}

    /// Starts with a check.
    void start() { tasks_.spawn("renewal of certificates", watch()); }
    /// Ends running renewals, then calls `done`. Required before destruction.
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

private:
    Task<void> watch();
    Task<bool> renew_due();

    net::EventLoop& loop_;
    const trust::Peers& peers_;
    const Renew renew_;
    TaskGroup tasks_;
};

}  // namespace crab::rtp
