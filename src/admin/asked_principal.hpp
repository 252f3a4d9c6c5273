#pragma once

#include "base/clock.hpp"
#include "core/call/principal.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <optional>
#include <string_view>

namespace crab::admin {

/// The principals that operators ask about, as they would come in. Cheap to copy; on any thread.
class AskedPrincipals {
public:
    struct Sources {
        const trust::Tokens& tokens;
        const Clock& clock;
        /// The tenant of the agent of that name; nothing: no such agent is configured
        std::function<std::optional<TenantId>(std::string_view agent)> agent_tenant;
    };
    explicit AskedPrincipals(Sources sources) : sources_(std::move(sources)) {}

    /// With the roles and tenants of its live credential here if it has one, else with those that
    /// such a principal has by default; or with `roles`. No roles: no principal has such an id.
    core::PrincipalRef find(std::string_view id, std::optional<core::Roles> roles = {}) const;

private:
    Sources sources_;
};

inline constexpr std::string_view kNoSuchPrincipal =
    "`as` begins with caller/, oauth/, device/, agent/, local/, tool_host/, subscriber/, "
    "listener/ or operator/";

}  // namespace crab::admin
