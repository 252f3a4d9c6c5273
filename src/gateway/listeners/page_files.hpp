#pragma once

#include "net/http/embedded_site.hpp"

#include <span>
#include <string>
#include <string_view>

namespace crab::gateway {

/// A page of the program, and what its Content-Security-Policy and Permissions-Policy leave it.
struct Page {
    std::string_view name;  ///< `the console`
    std::span<const net::EmbeddedFile> files;  ///< empty in a build without it (CRAB_WEB=OFF)
    std::string_view images, media, permissions;
};

/// Answers with the file of that name, or index.html, or 404. Texts from everywhere are shown on
/// pages, so nothing but their own files runs, nothing is inline, and no string becomes HTML or a
/// script: the one policy of Trusted Types gives the address of their service worker.
void serve_page(net::HttpExchange& exchange, const Page& page, std::string_view file);
/// For a page that is not in this build.
void respond_no_page(net::HttpExchange& exchange, const Page& page);

}  // namespace crab::gateway
