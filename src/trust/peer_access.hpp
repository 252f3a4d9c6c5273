#pragma once

#include "base/published.hpp"
#include "core/pipeline/pipeline.hpp"
#include "trust/access.hpp"
#include "trust/leases.hpp"

#include <string_view>

namespace crab::trust {

/// The policy and the leases together: an action must be allowed to the principal now, and, if a
/// lease is named, lie within it. Source: docs/protocols/rtp.md, section 8.
class PeerAccess final : public Access {
public:
    /// `rules` are asked again for every decision, so that a reload reaches what is open.
    PeerAccess(const Published<core::CallRules>& rules, Leases& leases)
        : rules_(rules), leases_(leases) {}

    ActionDecision decide(const core::Principal& principal, std::string_view action,
                          const ActionScope& scope, std::string_view lease_id) const override;
    bool is_lease_active(const core::Principal& principal,
                         std::string_view lease_id) const override;
    void stream_began(std::string_view lease_id) override { leases_.stream_began(lease_id); }
    void stream_ended(std::string_view lease_id) override { leases_.stream_ended(lease_id); }

    /// Makes a lease for `owner`, which must have each of its capabilities for that tenant. May
    /// block. Errors: kForbidden with the rule; those of Leases::make().
    Result<Lease> grant(const core::Principal& owner, LeaseRequest request);
    /// Renews a lease of `owner`, which must still have what it grants. May block. Errors:
    /// kForbidden; those of Leases::renew().
    Result<Lease> renew(const core::Principal& owner, std::string_view lease_id);

private:
    Result<void> must_have(const core::Principal& owner,
                           const std::vector<std::string>& capabilities,
                           std::string_view tenant) const;

    const Published<core::CallRules>& rules_;
    Leases& leases_;
};

}  // namespace crab::trust
