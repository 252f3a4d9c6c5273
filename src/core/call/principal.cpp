#include "core/call/principal.hpp"

#include <array>
#include <optional>

namespace crab::core {
namespace {

constexpr std::array kRoles{Role::kOperator, Role::kCaller,        Role::kDevice,
                            Role::kToolHost, Role::kSubscriber,    Role::kListener,
                            Role::kCliAdmin, Role::kTrustedDevice, Role::kMetrics};

}  // namespace

std::string_view name_of(Role role) {
    switch (role) {
        case Role::kOperator: return "operator";
        case Role::kCaller: return "caller";
        case Role::kDevice: return "device";
        case Role::kToolHost: return "tool_host";
        case Role::kSubscriber: return "subscriber";
        case Role::kListener: return "listener";
        case Role::kCliAdmin: return "cli_admin";
        case Role::kTrustedDevice: return "trusted_device";
        case Role::kMetrics: return "metrics";
    }
    return "";
}

std::optional<Role> find_role(std::string_view name) {
    for (const Role role : kRoles) {
        if (name_of(role) == name) return role;
    }
    return std::nullopt;
}

std::string Roles::to_text() const {
    std::string text;
    for (const Role role : kRoles) {
        if (!has(role)) continue;
        if (!text.empty()) text += ',';
        text += name_of(role);
    }
    return text;
}

std::optional<Roles> Roles::parse(std::string_view text) {
    Roles roles;
    for (bool more = !text.empty(); more;) {
        const std::size_t comma = text.find(',');
        const auto role = find_role(text.substr(0, comma));
        if (!role) return std::nullopt;
        roles.add(*role);
        more = comma != std::string_view::npos;
        if (more) text.remove_prefix(comma + 1);
    }
    return roles;
}

std::string_view name_of(Proof proof) {
    switch (proof) {
        case Proof::kLocalSocket: return "local_socket";
        case Proof::kOpenLoopback: return "open_loopback";
        case Proof::kBearerToken: return "bearer_token";
        case Proof::kDeviceKey: return "device_key";
        case Proof::kCertificate: return "certificate";
        case Proof::kInternal: return "internal";
    }
    return "";
}

}  // namespace crab::core
