#include "trust/peer_access.hpp"

#include <fmt/format.h>

namespace crab::trust {

ActionDecision PeerAccess::decide(const core::Principal& principal, std::string_view action,
                                  const ActionScope& scope, std::string_view lease_id) const {
    const auto rules = rules_.get();
    const core::Decision decision = rules->policy->decide_action(principal, action, scope.tenant);
    if (decision.verdict == core::Verdict::kAllow && !lease_id.empty()) {
        if (auto reason = leases_.refuses(lease_id, principal, action, scope))
            return {core::Verdict::kDeny, std::move(*reason)};
    }
    return {decision.verdict, std::string(decision.rule)};
}

bool PeerAccess::is_lease_active(const core::Principal& principal,
                                 std::string_view lease_id) const {
    const auto lease = leases_.find(lease_id);
    return lease && lease->owner == principal.id;
}

Result<Lease> PeerAccess::grant(const core::Principal& owner, LeaseRequest request) {
    if (auto has = must_have(owner, request.capabilities, request.tenant_id); !has)
        return fail(std::move(has.error()));
    return leases_.make(owner.id, std::move(request));
}

Result<Lease> PeerAccess::renew(const core::Principal& owner, std::string_view lease_id) {
    const auto lease = leases_.find(lease_id);
    if (!lease || lease->owner != owner.id)
        return fail(ErrorCode::kNotFound, "no such lease, or it has ended; make another one");
    if (auto has = must_have(owner, lease->capabilities, lease->tenant_id); !has)
        return fail(std::move(has.error()));
    return leases_.renew(lease_id);
}

Result<void> PeerAccess::must_have(const core::Principal& owner,
                                   const std::vector<std::string>& capabilities,
                                   std::string_view tenant) const {
    const auto rules = rules_.get();
    for (const std::string& capability : capabilities) {
        const core::Decision decision = rules->policy->decide_action(owner, capability, tenant);
        if (decision.verdict != core::Verdict::kAllow) {
            return fail(ErrorCode::kForbidden,
                        fmt::format("{} may not do {} for tenant {} ({})", owner.id, capability,
                                    tenant, decision.rule));
        }
    }
    return {};
}

}  // namespace crab::trust
