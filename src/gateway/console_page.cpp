#include "gateway/console_page.hpp"

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::string_view kConsolePermissions =
    "accelerometer=(), autoplay=(), camera=(), clipboard-read=(), display-capture=(), "
    "fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), "
    "payment=(), picture-in-picture=(), publickey-credentials-get=(self), screen-wake-lock=(), "
    "usb=(), web-share=(), xr-spatial-tracking=()";

/// Texts from everywhere are shown there, so nothing but the page's own files runs, and no string
/// becomes HTML or a script: the one policy of Trusted Types gives the address of its service
/// worker. `'self'` does not cover WebSockets in older browsers; `host` is the Host field, a name
/// or address that was checked.
std::string console_policy(bool tls, std::string_view host) {
    return fmt::format(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "media-src blob:; connect-src 'self' {}://{}; manifest-src 'self'; worker-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types crab-worker",
        tls ? "wss" : "ws", host);
}

void serve_console_file(net::HttpExchange& exchange, std::string_view file) {
    const net::HttpRequest& request = exchange.request();
    const std::string policy = console_policy(request.tls, request.head.host);
    const std::array<net::HttpHeader, 7> headers{{{"Content-Security-Policy", policy},
                                                  {"Permissions-Policy", kConsolePermissions},
                                                  {"X-Content-Type-Options", "nosniff"},
                                                  {"Referrer-Policy", "no-referrer"},
                                                  {"Cross-Origin-Opener-Policy", "same-origin"},
                                                  {"Cross-Origin-Resource-Policy", "same-origin"},
                                                  {"X-Frame-Options", "DENY"}}};
    if (console_page_files().empty())
        return exchange.respond_error(404, "NOT_FOUND",
                                      "this gateway was built without the console");
    const net::EmbeddedSite site(console_page_files());
    if (!site.serve(exchange, file.empty() ? "index.html" : file, headers))
        net::respond_unknown_path(exchange);
}

}  // namespace

void add_console_page(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/console/{file...}",
                .summary = "The files of the console; `crab console` makes them a page",
                .head = true,
                .headers = {{"If-None-Match", "the ETag that is known"}},
                .answers = {{200, {}, "*/*"}, {304, {}, {}}},
                .refusals = {404}},
               [](const Request& request) {
                   serve_console_file(request.exchange, request.arguments["file"]);
               });
}

}  // namespace crab::gateway
