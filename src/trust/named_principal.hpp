#pragma once

#include "core/call/principal.hpp"

#include <optional>
#include <string>

namespace crab::trust {

/// The principal that `id` would be if it came in: `caller/…` and `device/…` with a token,
/// `oauth/…` with one of the issuer that is configured, `local/…` by the admin socket, `agent/…` of
/// the gateway's own agents, `<component_type>/…` with its certificate, each with the roles that it
/// has by default, or `roles`. For questions about policies.
core::Principal principal_named(std::string id, std::optional<core::Roles> roles);

}  // namespace crab::trust
