#include "gateway/listeners/page_files.hpp"

#include "net/http/route_answers.hpp"

#include <array>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

/// `'self'` does not cover WebSockets in older browsers; the Host field is a name or address that
/// was checked.
std::string content_policy(const net::HttpRequest& request, const Page& page) {
    return fmt::format(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src {}; media-src {}; "
        "connect-src 'self' {}://{}; manifest-src 'self'; worker-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types crab-worker",
        page.images, page.media, request.tls ? "wss" : "ws", request.head.host);
}

}  // namespace

void respond_no_page(net::HttpExchange& exchange, const Page& page) {
    exchange.respond_error(404, "NOT_FOUND",
                           fmt::format("this gateway was built without {}", page.name));
}

void serve_page(net::HttpExchange& exchange, const Page& page, std::string_view file) {
    if (page.files.empty()) return respond_no_page(exchange, page);
    const std::string policy = content_policy(exchange.request(), page);
    const std::array<net::HttpHeader, 7> headers{{{"Content-Security-Policy", policy},
                                                  {"Permissions-Policy", page.permissions},
                                                  {"X-Content-Type-Options", "nosniff"},
                                                  {"Referrer-Policy", "no-referrer"},
                                                  {"Cross-Origin-Opener-Policy", "same-origin"},
                                                  {"Cross-Origin-Resource-Policy", "same-origin"},
                                                  {"X-Frame-Options", "DENY"}}};
    const net::EmbeddedSite site(page.files);
    if (!site.serve(exchange, file.empty() ? "index.html" : file, headers))
        net::respond_unknown_path(exchange);
}

}  // namespace crab::gateway
