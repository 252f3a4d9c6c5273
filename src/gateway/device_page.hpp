#pragma once

#include "config/gateway_config.hpp"
#include "core/call/principal.hpp"
#include "net/http/embedded_site.hpp"
#include "net/http/routes.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace crab::gateway {

/// The routes of the page that makes a browser a device (web/device), at `/device/` below the path
/// prefix. Its files are part of the program.
void add_device_page(net::Routes<core::PrincipalRef>& routes);

/// Where a browser finds the page: the first of `host_names`, else the address that is listened on,
/// with the port that was bound. Empty when there is no page or nothing is listened on.
std::string device_page_address(const config::ListenOptions& listen, std::uint16_t port);

/// What scripts/embed_site.py made of the built page; empty in a build without it (CRAB_WEB=OFF).
std::span<const net::EmbeddedFile> device_page_files();

}  // namespace crab::gateway
