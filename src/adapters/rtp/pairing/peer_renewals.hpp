#pragma once

#include "adapters/rtp/pairing/pairing_dialer.hpp"
#include "base/task/task_group.hpp"
#include "trust/peers.hpp"

#include <functional>
#include <memory>

namespace crab::rtp {

/// Renews the certificates of active peers by itself when less than 30 days remain: looks once a
/// day, and after a failure once an hour. Lives on the dialer's loop. Source:
/// docs/protocols/rtp.md, section 6.
class PeerRenewals {
public:
    /// Renews one peer; its outcome is told elsewhere.
    using Renew = std::function<Task<bool>(trust::PeerName)>;

    /// `peers` outlives this.
    PeerRenewals(net::EventLoop& loop, const trust::Peers& peers, Renew renew)
        : loop_(loop), peers_(peers), renew_(std::move(renew)), tasks_(loop.executor()) {}

    /// Begins with a first look.
    void start() { tasks_.spawn("renewal of certificates", watch()); }
    /// Ends what runs, then calls `done`. Needed before it is destroyed.
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
