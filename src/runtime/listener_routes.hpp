#pragma once

#include "core/call/principal.hpp"
#include "net/http/routes.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace crab::runtime {

/// Whom a listener serves.
enum class ListenerKind : std::uint8_t {
    kPublic,  ///< devices, callers and browsers, by their tokens
    kAdmin,   ///< the operator, on a local socket
    kPeers,   ///< paired peers, by their certificates
    kHost,    ///< the gateway of a tool host
};

/// As metrics name it.
constexpr std::string_view name_of(ListenerKind kind) {
    switch (kind) {
        case ListenerKind::kPublic: return "public";
        case ListenerKind::kAdmin: return "admin";
        case ListenerKind::kPeers: return "peers";
        case ListenerKind::kHost: return "host";
    }
    return {};
}

/// The routes of one listener on one event loop, and what is counted of them.
struct ListenerRoutes {
    ListenerKind kind;
    std::size_t loop;  ///< index of the event loop
    net::Routes<core::PrincipalRef>& routes;
    const net::RouteMetrics& metrics;
};

}  // namespace crab::runtime
