#pragma once

#include "base/clock.hpp"
#include "core/call/principal.hpp"
#include "trust/tokens.hpp"

#include <string_view>

namespace crab::admin {

/// The principal that an operator asks about, with the roles and tenants of its live credential
/// here if it has one, else with those that such a principal has by default. No roles: no principal
/// has such an id.
core::PrincipalRef asked_principal(std::string_view id, const trust::Tokens& tokens,
                                   SystemTime now);

inline constexpr std::string_view kNoSuchPrincipal =
    "`as` begins with caller/, oauth/, device/, agent/, local/, tool_host/, subscriber/, "
    "listener/ or operator/";

}  // namespace crab::admin
