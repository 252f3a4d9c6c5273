#pragma once

#include "trust/pairing/pairing_error.hpp"
#include "trust/pairing/peer_name.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace crab::trust {

/// Keeps handshakes of one gateway apart: one per endpoint and one per id at a time, 8 in all. Take
/// the slot, then plan_pairing(): what the plan saw then stays true of the endpoint until the slot
/// is given back. Thread-safe. Source: docs/protocols/rtp.md, section 5.1.
class PairingSlots {
public:
    static constexpr std::size_t kMost = 8;

    /// A slot, given back when it is destroyed. `endpoint` is PairingEndpoint::text(). The slots
    /// outlive it. Errors: kBusy.
    PairingResult<std::shared_ptr<void>> take(const PeerName& name, const std::string& endpoint) {
        const std::lock_guard lock(mutex_);
        if (names_.contains(name))
            return refuse(PairingCode::kBusy, name.text() + " is being paired already");
        if (endpoints_.contains(endpoint))
            return refuse(PairingCode::kBusy, "another handshake with this endpoint is running");
        if (names_.size() >= kMost)
            return refuse(PairingCode::kBusy,
                          "eight handshakes are running; try again in some seconds");
        names_.insert(name);
        endpoints_.insert(endpoint);
        const auto give_back = [this, name, endpoint](void*) {
            const std::lock_guard again(mutex_);
            names_.erase(name);
            endpoints_.erase(endpoint);
        };
        return std::shared_ptr<void>(this, give_back);
    }

private:
    std::mutex mutex_;
    std::set<PeerName> names_;
    std::set<std::string> endpoints_;
};

}  // namespace crab::trust
