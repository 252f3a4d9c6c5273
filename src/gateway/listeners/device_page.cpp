#include "gateway/listeners/device_page.hpp"

#include "gateway/listeners/page_files.hpp"

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

Page device_page() {
    return {.name = "the device page",
            .files = device_page_files(),
            .images = "'self' blob: data:",
            .media = "'self' blob:",
            .permissions = kPermissions};
}

}  // namespace

namespace {

/// The addresses of the page in that folder of the public listener.
std::vector<admin::Gateway::Page> page_addresses(const config::ListenOptions& listen,
                                                 std::uint16_t port, std::string_view folder) {
    std::vector<admin::Gateway::Page> pages;
    if (!listen.public_address) return pages;
    const auto add = [&](const config::HostPort& place, std::string_view reach) {
        const bool here = place.is_loopback() || is_any_address(place.host);
        pages.push_back({.url = fmt::format("{}://{}{}/{}/", listen.tls ? "https" : "http",
                                            place.to_text(), listen.path_prefix, folder),
                         .reach = here ? "loopback" : reach,
                         .tls = listen.tls.has_value()});
    };
    for (const std::string& name : listen.host_names) add({.host = name, .port = port}, "name");
    if (listen.host_names.empty())
        add({.host = listen.public_address->host, .port = port}, "address");
    return pages;
}

}  // namespace

std::vector<admin::Gateway::Page> console_page_addresses(const config::ListenOptions& listen,
                                                         std::uint16_t port) {
    return page_addresses(listen, port, "console");
}

std::vector<admin::Gateway::Page> device_page_addresses(const config::ListenOptions& listen,
                                                        std::uint16_t port) {
    if (!listen.device_page || device_page_files().empty()) return {};
    return page_addresses(listen, port, "device");
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
                   if (device_page_files().empty())
                       return respond_no_page(request.exchange, device_page());
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
               [](const Request& request) {
                   serve_page(request.exchange, device_page(), request.arguments["file"]);
               });
}

}  // namespace crab::gateway
