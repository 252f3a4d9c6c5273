#include "trust/named_principal.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace crab::trust {
namespace {

using core::Proof;
using core::Role;

struct Kind {
    std::string_view prefix;
    core::Roles roles;
    Proof proof;
};

const std::array kKinds{Kind{"caller/", {Role::kCaller}, Proof::kBearerToken},
                        Kind{"oauth/", {Role::kCaller}, Proof::kBearerToken},
                        Kind{"device/", {Role::kDevice}, Proof::kBearerToken},
                        Kind{"local/", {Role::kOperator}, Proof::kLocalSocket},
                        Kind{"tool_host/", {Role::kToolHost}, Proof::kCertificate},
                        Kind{"subscriber/", {Role::kSubscriber}, Proof::kCertificate},
                        Kind{"listener/", {Role::kListener}, Proof::kCertificate},
                        Kind{"operator/", {Role::kCliAdmin}, Proof::kCertificate},
                        Kind{"agent/", {Role::kCaller}, Proof::kInternal}};

}  // namespace

core::Principal principal_named(std::string id, std::optional<core::Roles> roles) {
    core::Principal principal;
    for (const Kind& kind : kKinds) {
        if (!id.starts_with(kind.prefix)) continue;
        principal.roles = kind.roles;
        principal.proof = kind.proof;
    }
    if (roles) principal.roles = *roles;
    principal.id = std::move(id);
    return principal;
}

}  // namespace crab::trust
