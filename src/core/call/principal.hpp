#pragma once

#include "base/id.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// kTrustedDevice accompanies kDevice: the device's claims about its tools are trusted, even if
/// that makes the gateway less careful. kMetrics reads `/metrics` and does nothing else.
enum class Role : std::uint8_t {
    kOperator,
    kCaller,
    kDevice,
    kToolHost,
    kSubscriber,
    kListener,
    kCliAdmin,
    kTrustedDevice,
    kMetrics
};
std::string_view name_of(Role role);
std::optional<Role> find_role(std::string_view name);

/// A set of roles.
class Roles {
public:
    Roles() = default;
    Roles(std::initializer_list<Role> roles) {
        for (const Role role : roles) add(role);
    }
    void add(Role role) {
        bits_ = static_cast<std::uint16_t>(bits_ | 1u << static_cast<unsigned>(role));
    }
    bool has(Role role) const { return (bits_ >> static_cast<unsigned>(role) & 1u) != 0; }
    bool empty() const { return bits_ == 0; }
    /// Whether they let their holder see and change what is everybody's.
    bool are_of_operator() const { return has(Role::kOperator) || has(Role::kCliAdmin); }
    /// Names separated by commas, as the command line and the stores write them.
    std::string to_text() const;
    /// Nothing when a name is unknown.
    static std::optional<Roles> parse(std::string_view text);
    friend bool operator==(Roles, Roles) = default;

private:
    std::uint16_t bits_ = 0;
};

/// How an identity was proven.
enum class Proof : std::uint8_t {
    kLocalSocket,
    kOpenLoopback,
    kBearerToken,
    kDeviceKey,
    kCertificate,
    kInternal
};
std::string_view name_of(Proof proof);

/// The tenant of tokens and peers without configured tenants.
inline constexpr std::string_view kDefaultTenant = "default";

/// The identity that a call runs as; never anonymous. Immutable; shared between threads.
struct Principal {
    std::string id;               ///< `local/<uid or addr>`, `device/<slug>`, `caller/<name>`, …
    TenantId tenant;  ///< default tenant of its calls; empty: it may act for any tenant
    std::vector<TenantId> more_tenants{};  ///< further tenants that its calls may name
    Roles roles;
    Proof proof = Proof::kInternal;
    std::string device;  ///< slug of the device record behind the credential, or empty
    std::string credential_id;  ///< names the credential, never holds it

    bool may(Role role) const { return roles.has(role) || roles.has(Role::kOperator); }
    /// Whether its credential is for `/metrics` alone; then all else refuses it.
    bool only_reads_metrics() const { return roles == Roles{Role::kMetrics}; }
    /// Whether it may act for this tenant. For calls use Policy::may_act_in(), which includes the
    /// configured tenants of peers.
    bool may_act_in(std::string_view name) const {
        const auto is_it = [&](const TenantId& its) { return its.text() == name; };
        return tenant.empty() || is_it(tenant) || std::ranges::any_of(more_tenants, is_it);
    }
    /// `wanted` if it may act for that tenant, else its own.
    std::string_view tenant_for(std::string_view wanted) const {
        return may_act_in(wanted) ? wanted : std::string_view(tenant.text());
    }
};
using PrincipalRef = std::shared_ptr<const Principal>;

}  // namespace crab::core
