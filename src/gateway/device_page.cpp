#include "gateway/device_page.hpp"

#include <array>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

/// All addresses of a machine: good to listen on, and for nobody to open.
bool is_any_address(std::string_view host) { return host == "0.0.0.0" || host == "::"; }

/// Sensors, camera and the rest are for this page alone, not for frames in it.
constexpr std::string_view kPermissions =
    "accelerometer=(self), camera=(self), clipboard-read=(self), clipboard-write=(self), "
    "geolocation=(self), gyroscope=(self), "
    "magnetometer=(self), microphone=(self), screen-wake-lock=(self), web-share=(self)";

/// Nothing from elsewhere, no inline script. The WebSocket is named because `'self'` does not cover
/// it in older browsers; `host` is the Host field, a name or address that was checked.
std::string content_security_policy(bool tls, std::string_view host) {
    return fmt::format(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "media-src 'self' blob:; "
        "connect-src 'self' {}://{}; manifest-src 'self'; worker-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types crab-worker",
        tls ? "wss" : "ws", host);
}

void respond_no_page(net::HttpExchange& exchange) {
    exchange.respond_error(404, "NOT_FOUND", "this gateway was built without the device page");
}

void serve(net::HttpExchange& exchange, std::string_view file) {
    if (device_page_files().empty()) return respond_no_page(exchange);
    const net::HttpRequest& request = exchange.request();
    const std::string policy = content_security_policy(request.tls, request.head.host);
    const std::array<net::HttpHeader, 5> headers{{{"Content-Security-Policy", policy},
                                                  {"Permissions-Policy", kPermissions},
                                                  {"X-Content-Type-Options", "nosniff"},
                                                  {"Referrer-Policy", "no-referrer"},
                                                  {"Cross-Origin-Opener-Policy", "same-origin"}}};
    const net::EmbeddedSite site(device_page_files());
    if (!site.serve(exchange, file.empty() ? "index.html" : file, headers))
        net::respond_unknown_path(exchange);
}

}  // namespace

std::vector<admin::Gateway::Page> device_page_addresses(const config::ListenOptions& listen,
                                                        std::uint16_t port) {
    std::vector<admin::Gateway::Page> pages;
    if (!listen.device_page || !listen.public_address || device_page_files().empty()) return pages;
    const auto add = [&](const config::HostPort& place, std::string_view reach) {
        const bool here = place.is_loopback() || is_any_address(place.host);
        pages.push_back({.url = fmt::format("{}://{}{}/device/", listen.tls ? "https" : "http",
                                            place.to_text(), listen.path_prefix),
                         .reach = here ? "loopback" : reach,
                         .tls = listen.tls.has_value()});
    };
    for (const std::string& name : listen.host_names) add({.host = name, .port = port}, "name");
    if (listen.host_names.empty())
        add({.host = listen.public_address->host, .port = port}, "address");
    return pages;
}

void add_device_page(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/device",
                .who = net::Caller::kGuest,
                .summary = "The way to the device page",
                .head = true,
                .answers = {{308, {}, {}}},
                .refusals = {404}},
               [root = routes.table().prefix() + "/device/"](const Request& request) {
                   if (device_page_files().empty()) return respond_no_page(request.exchange);
                   // the page's own links are relative
                   request.exchange.respond(308, "", "", {{"Location", root}});
               });
    routes.add({.path = "/device/{file...}",
                .who = net::Caller::kGuest,
                .summary = "The page that makes a browser a device",
                .head = true,
                .headers = {{"If-None-Match", "the ETag that is known"}},
                .answers = {{200, {}, "*/*"}, {304, {}, {}}},
                .refusals = {404}},
               [](const Request& request) { serve(request.exchange, request.arguments["file"]); });
}

}  // namespace crab::gateway
