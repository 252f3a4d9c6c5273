#include "net/http/embedded_site.hpp"

#include <algorithm>
#include <vector>

namespace crab::net {

bool names_etag(std::string_view if_none_match, std::string_view etag) {
    while (!if_none_match.empty()) {
        const std::size_t comma = if_none_match.find(',');
        std::string_view item = if_none_match.substr(0, comma);
        if_none_match.remove_prefix(comma == std::string_view::npos ? if_none_match.size()
                                                                    : comma + 1);
        item.remove_prefix(std::min(item.find_first_not_of(" \t"), item.size()));
        item = item.substr(0, item.find_last_not_of(" \t") + 1);
        if (item.starts_with("W/")) item.remove_prefix(2);
        if (item == etag || item == "*") return true;
    }
    return false;
}

bool EmbeddedSite::serve(HttpExchange& exchange, std::string_view path,
                         std::span<const HttpHeader> headers) const {
    const auto file = std::ranges::find(files_, path, &EmbeddedFile::path);
    if (file == files_.end()) return false;
    const HttpRequest& request = exchange.request();
    std::vector<HttpHeader> all(headers.begin(), headers.end());
    all.push_back({"ETag", file->etag});
    all.push_back({"Cache-Control", file->caching == EmbeddedFile::Caching::kForever
                                        ? "public, max-age=31536000, immutable"
                                        : "no-cache"});
    if (const auto known = request.find("if-none-match"); known && names_etag(*known, file->etag)) {
        exchange.respond(304, "", "", all);
    } else {
        exchange.respond(200, file->content_type, file->content, all);
    }
    return true;
}

}  // namespace crab::net
