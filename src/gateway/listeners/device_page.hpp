#pragma once

#include "admin/admin_api.hpp"
#include "config/gateway_config.hpp"
#include "core/call/principal.hpp"
#include "net/http/embedded_site.hpp"
#include "net/http/routes.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// The routes of the page that makes a browser a device (web/device), at `/device/` below the path
/// prefix. Its files are embedded in the program.
void add_device_page(net::Routes<core::PrincipalRef>& routes);

/// The page's URLs, best first: one for each of `host_names`, else that of the listener's address,
/// with the bound port. Empty when there is no page or no listener.
std::vector<admin::Gateway::Page> device_page_addresses(const config::ListenOptions& listen,
                                                        std::uint16_t port);
/// The same of the console's page, whether it is open or not.
std::vector<admin::Gateway::Page> console_page_addresses(const config::ListenOptions& listen,
                                                         std::uint16_t port);

/// The page as embedded by scripts/embed_site.py; empty in a build without it (CRAB_WEB=OFF).
std::span<const net::EmbeddedFile> device_page_files();

}  // namespace crab::gateway
