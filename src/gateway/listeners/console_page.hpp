#pragma once

#include "core/call/principal.hpp"
#include "net/http/embedded_site.hpp"
#include "net/http/routes.hpp"

#include <span>
#include <string_view>

namespace crab::gateway {

/// The files of the console (web/console), at `/console/`. They are nobody's secret: what the page
/// shows comes from requests that need a session, which is made where the page is reached from
/// (src/console).
void add_console_page(net::Routes<core::PrincipalRef>& routes);

/// One of them, or 404; for doors of the console that have a route of their own.
void serve_console_file(net::HttpExchange& exchange, std::string_view file);

/// The page as embedded by scripts/embed_site.py; empty in a build without it (CRAB_WEB=OFF).
std::span<const net::EmbeddedFile> console_page_files();

}  // namespace crab::gateway
