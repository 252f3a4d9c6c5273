#include "admin/pairing_wire.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace crab::admin {
namespace {

constexpr std::int64_t kLongestLifetime = 3'153'600'000;  // seconds: a hundred years

Result<core::Roles> read_roles(json::Array names) {
    core::Roles roles{};
    for (const json::Element item : names) {
        std::string_view name;
        const auto role =
            item.get(name) == simdjson::SUCCESS ? core::find_role(name) : std::nullopt;
        if (!role)
            return fail(ErrorCode::kInvalidArgs,
                        "/roles: each is one of device, caller, operator, tool_host, subscriber, "
                        "listener, cli_admin, trusted_device, metrics");
        roles.add(*role);
    }
    if (roles.empty()) return fail(ErrorCode::kInvalidArgs, "/roles: name at least one");
    return roles;
}

Result<std::vector<TenantId>> read_tenants(json::Array names) {
    std::vector<TenantId> tenants;
    for (const json::Element item : names) {
        std::string_view name;
        if (item.get(name) != simdjson::SUCCESS)
            return fail(ErrorCode::kInvalidArgs, "/tenants: each is the name of one");
        tenants.emplace_back(std::string(name));
    }
    return tenants;
}

}  // namespace

Result<trust::PairingOffer> read_pairing_offer(json::Element request, Milliseconds lifetime) {
    trust::PairingOffer offer;
    offer.name = json::get_string(request, "name").value_or("");
    offer.device = json::get_string(request, "device").value_or("");
    offer.lifetime = lifetime;
    if (const auto seconds = json::get_int64(request, "expires_in_s")) {
        if (*seconds < 1) return fail(ErrorCode::kInvalidArgs, "/expires_in_s: at least 1");
        offer.lifetime = std::chrono::seconds(std::min(*seconds, kLongestLifetime));
    }
    if (const auto names = json::get_array(request, "roles")) {
        const auto roles = read_roles(*names);
        if (!roles) return fail(roles.error());
        offer.roles = *roles;
    }
    if (json::get_bool(request, "trust_annotations").value_or(false)) {
        if (!offer.roles.has(core::Role::kDevice))
            return fail(ErrorCode::kInvalidArgs, "/trust_annotations: goes with the role device");
        offer.roles.add(core::Role::kTrustedDevice);
    }
    if (const auto names = json::get_array(request, "tenants")) {
        auto tenants = read_tenants(*names);
        if (!tenants) return fail(tenants.error());
        offer.tenants = std::move(*tenants);
    }
    return offer;
}

void append_roles(json::Writer& writer, const core::Roles& roles) {
    using core::Role;
    writer.key("roles").begin_array();
    for (const Role role :
         {Role::kDevice, Role::kCaller, Role::kOperator, Role::kToolHost, Role::kSubscriber,
          Role::kListener, Role::kCliAdmin, Role::kTrustedDevice, Role::kMetrics}) {
        if (roles.has(role)) writer.string(core::name_of(role));
    }
    writer.end_array();
}

}  // namespace crab::admin
