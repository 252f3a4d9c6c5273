#include "admin/asked_principal.hpp"

#include "trust/named_principal.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace crab::admin {

core::PrincipalRef asked_principal(std::string_view id, const trust::Tokens& tokens,
                                   SystemTime now) {
    core::Principal principal = trust::principal_named(std::string(id), std::nullopt);
    for (const trust::TokenRecord& token : tokens.list()) {
        if (!token.is_live(now) || token.principal_id() != id) continue;
        principal.roles = token.roles;
        principal.tenant = token.tenants.front();
        principal.more_tenants.assign(token.tenants.begin() + 1, token.tenants.end());
        principal.device = token.device;
    }
    return std::make_shared<const core::Principal>(std::move(principal));
}

}  // namespace crab::admin
