#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/result.hpp"
#include "core/call/principal.hpp"
#include "json/value.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// What an access token has to say to be good here, and how its holder becomes a principal.
struct ClaimRules {
    std::string issuer;
    std::string issuer_name;  ///< in principals: `oauth/<issuer_name>/<sub>`
    std::string resource;     ///< has to be in `aud`
    std::string tenant_claim;  ///< empty: everybody is of the default tenant
    std::string roles_claim;   ///< empty: everybody is a caller
};

/// What an access token says.
struct TokenClaims {
    std::string subject;
    std::vector<std::string> scopes;
    std::vector<TenantId> tenants;  ///< at least one
    core::Roles roles;
    SystemTime expires_at;

    bool has_scopes(const std::vector<std::string>& needed) const;
};

/// How far clocks may differ.
constexpr std::chrono::seconds kClockSkew{60};

/// Checks the claims of a token whose signature is good: `iss` equal, `aud` contains the resource,
/// `exp` and `nbf` within a minute; `sub` is there. Roles are those of callers (`caller`,
/// `subscriber`, `operator`, `cli_admin`); names that mean no such role are left out. Errors:
/// kUnauthenticated; its message is for the log and tells a caller nothing about other tokens.
Result<TokenClaims> check_claims(const json::Value& claims, const ClaimRules& rules,
                                 SystemTime now);
/// Checks the answer of introspection (RFC 7662): active, and what of the above it says.
Result<TokenClaims> check_introspection(const json::Value& answer, const ClaimRules& rules,
                                        SystemTime now);
/// `oauth/<issuer name>/<sub>`; bytes of `sub` that mean something in names and patterns are
/// percent-encoded.
core::PrincipalRef principal_of(const TokenClaims& claims, const ClaimRules& rules);

}  // namespace crab::mcp
