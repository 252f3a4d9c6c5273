#include "admin/asked_principal.hpp"

#include "trust/named_principal.hpp"

#include <memory>
#include <string>
#include <utility>

namespace crab::admin {
namespace {

constexpr std::string_view kAgent = "agent/";

}  // namespace

core::PrincipalRef AskedPrincipals::find(std::string_view id,
                                         std::optional<core::Roles> roles) const {
    core::Principal principal = trust::principal_named(std::string(id), std::nullopt);
    if (principal.proof == core::Proof::kBearerToken)
        principal.tenant = TenantId(std::string(core::kDefaultTenant));
    if (id.starts_with(kAgent))
        principal.tenant = sources_.agent_tenant(id.substr(kAgent.size()))
                               .value_or(TenantId(std::string(core::kDefaultTenant)));
    const SystemTime now = sources_.clock.system_now();
    for (const trust::TokenRecord& token : sources_.tokens.list()) {
        if (!token.is_live(now) || token.principal_id() != id) continue;
        principal.roles = token.roles;
        principal.tenant = token.tenants.front();
        principal.more_tenants.assign(token.tenants.begin() + 1, token.tenants.end());
        principal.device = token.device;
    }
    if (roles) principal.roles = *roles;
    return std::make_shared<const core::Principal>(std::move(principal));
}

}  // namespace crab::admin
