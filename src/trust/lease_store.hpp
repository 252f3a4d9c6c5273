#pragma once

#include "base/result.hpp"
#include "trust/lease.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// One lease ended at this time, and why.
struct LeaseEnd {
    std::string lease_id;
    SystemTime at;
    std::string reason;
};

/// Store of leases. Every function may block and is atomic and durable. `Leases` calls one function
/// at a time. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class LeaseStore {
public:
    virtual ~LeaseStore() = default;

    /// Those that are neither revoked nor expired at `now`; not those that are bound to connections
    /// of other nodes that live.
    virtual Result<std::vector<Lease>> load_live(SystemTime now) = 0;
    virtual Result<void> insert(const Lease& lease) = 0;
    virtual Result<void> set_expiry(std::string_view lease_id, SystemTime expires_at) = 0;
    /// A lease that has ended already keeps its time and its reason.
    virtual Result<void> end(std::span<const LeaseEnd> ends) = 0;
    /// Removes those that ended or expired before `before`.
    virtual Result<void> forget(SystemTime before) = 0;
};

}  // namespace crab::trust
