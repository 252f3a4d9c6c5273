#include "net/http/embedded_site.hpp"

#include "base/ascii.hpp"
#include "net/codec/gzip.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace crab::net {
namespace {

/// Another representation has another tag (RFC 9110, section 8.8.3).
std::string packed_tag(std::string_view etag) {
    return fmt::format("{}-gzip\"", etag.substr(0, etag.size() - 1));
}

}  // namespace

bool accepts_packed(std::string_view accept_encoding) {
    return !for_each_element(accept_encoding, [](std::string_view element) {
        const std::size_t end = std::min(element.find_first_of("; \t"), element.size());
        if (!equals_lower(element.substr(0, end), "gzip")) return true;
        const std::size_t weight = element.find("q=", end);
        return weight != std::string_view::npos &&
               element.find_first_of("123456789", weight) == std::string_view::npos;
    });
}

bool names_etag(std::string_view if_none_match, std::string_view etag) {
    return !for_each_element(if_none_match, [etag](std::string_view element) {
        if (element.starts_with("W/")) element.remove_prefix(2);
        return element != etag && element != "*";
    });
}

bool EmbeddedSite::serve(HttpExchange& exchange, std::string_view path,
                         std::span<const HttpHeader> headers) const {
    const auto file = std::ranges::find(files_, path, &EmbeddedFile::path);
    if (file == files_.end()) return false;
    const HttpRequest& request = exchange.request();
    const bool packed =
        file->unpacked_size != 0 && accepts_packed(request.find("accept-encoding").value_or(""));
    const std::string etag = packed ? packed_tag(file->etag) : std::string(file->etag);
    std::vector<HttpHeader> all(headers.begin(), headers.end());
    all.push_back({"ETag", etag});
    all.push_back({"Cache-Control", file->caching == EmbeddedFile::Caching::kForever
                                        ? "public, max-age=31536000, immutable"
                                        : "no-cache"});
    if (file->unpacked_size != 0) all.push_back({"Vary", "Accept-Encoding"});
    if (const auto known = request.find("if-none-match"); known && names_etag(*known, etag)) {
        exchange.respond(304, "", "", all);
    } else if (packed || file->unpacked_size == 0) {
        if (packed) all.push_back({"Content-Encoding", "gzip"});
        exchange.respond(200, file->content_type, file->content, all);
    } else {
        std::string content;
        gunzip(file->content, file->unpacked_size, content);
        exchange.respond(200, file->content_type, content, all);
    }
    return true;
}

}  // namespace crab::net
