#include "gateway/listeners/console_page.hpp"

#include "gateway/listeners/page_files.hpp"

#include <string_view>

namespace crab::gateway {
namespace {

constexpr std::string_view kConsolePermissions =
    "accelerometer=(), autoplay=(), camera=(), clipboard-read=(), display-capture=(), "
    "fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), "
    "payment=(), picture-in-picture=(), publickey-credentials-get=(self), screen-wake-lock=(), "
    "usb=(), web-share=(), xr-spatial-tracking=()";

}  // namespace

void serve_console_file(net::HttpExchange& exchange, std::string_view file) {
    serve_page(exchange,
               {.name = "the console",
                .files = console_page_files(),
                .images = "'self' blob:",
                .media = "blob:",
                .permissions = kConsolePermissions},
               file);
}

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
