#pragma once

#include "trust/lease_store.hpp"

#include <algorithm>

namespace crab::trust {

/// Leases that end with the process, for tests. `failure` makes the writing functions fail, as a
/// full disk does.
class LeaseStoreMemory final : public LeaseStore {
public:
    std::optional<Error> failure;
    std::vector<Lease> leases;

    const Lease* find(std::string_view id) const {
        const auto found = std::ranges::find(leases, id, &Lease::id);
        return found == leases.end() ? nullptr : &*found;
    }

    Result<std::vector<Lease>> load_live(SystemTime now) override {
        std::vector<Lease> live;
        for (const Lease& lease : leases) {
            if (!lease.revoked_at && now < lease.expires_at) live.push_back(lease);
        }
        return live;
    }
    Result<void> insert(const Lease& lease) override {
        if (failure) return fail(*failure);
        leases.push_back(lease);
        return {};
    }
    Result<void> set_expiry(std::string_view lease_id, SystemTime expires_at) override {
        if (failure) return fail(*failure);
        for (Lease& lease : leases) {
            if (lease.id == lease_id) lease.expires_at = expires_at;
        }
        return {};
    }
    Result<void> end(std::span<const LeaseEnd> ends) override {
        if (failure) return fail(*failure);
        for (const LeaseEnd& end : ends) {
            for (Lease& lease : leases) {
                if (lease.id != end.lease_id || lease.revoked_at) continue;
                lease.revoked_at = end.at;
                lease.revoke_reason = end.reason;
            }
        }
        return {};
    }
    Result<void> forget(SystemTime before) override {
        if (failure) return fail(*failure);
        std::erase_if(leases, [&](const Lease& lease) {
            return lease.revoked_at.value_or(lease.expires_at) < before;
        });
        return {};
    }
};

}  // namespace crab::trust
