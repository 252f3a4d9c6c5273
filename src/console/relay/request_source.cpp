#include "console/relay/request_source.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace crab::console {
namespace {

constexpr std::string_view kApi = "api/";

bool is_below(const net::HttpRequest& request, std::string_view root, std::string_view what) {
    return request.path().starts_with(root) && request.path().substr(root.size()).starts_with(what);
}

bool is_write(const net::HttpRequest& request) {
    return request.method() != "GET" && request.method() != "HEAD" && request.method() != "OPTIONS";
}

bool has_body(const net::HttpRequest& request) {
    return request.head.chunked || request.head.content_length.value_or(0) > 0;
}

bool is_json(const net::HttpRequest& request) {
    const std::string_view type = only_field(request, "content-type");
    const std::string_view essence = trim(type.substr(0, type.find(';')));
    return equals_lower(essence, "application/json");
}

}  // namespace

std::string_view cookie_of(const net::HttpRequest& request, std::string_view name) {
    std::string_view found;
    for (const net::HttpHeader field : request.head.headers) {
        if (!equals_lower(field.name, "cookie")) continue;
        std::string_view rest = field.value;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(';'), rest.size());
            const std::string_view pair = trim(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            const std::size_t equals = pair.find('=');
            if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
            if (!found.empty()) return {};
            found = pair.substr(equals + 1);
        }
    }
    return found;
}

std::string_view only_field(const net::HttpRequest& request, std::string_view name) {
    if (request.head.headers.count(name) != 1) return {};
    return *request.find(name);
}

bool asks_for_upgrade(const net::HttpRequest& request) {
    return request.head.connection_upgrade && request.find("upgrade");
}

bool is_api(const net::HttpRequest& request, std::string_view root) {
    return is_below(request, root, kApi);
}

bool is_session(const net::HttpRequest& request, std::string_view root) {
    return is_below(request, root, "session");
}

std::string api_target(const net::HttpRequest& request, std::string_view root) {
    std::string target(request.path().substr(root.size() + kApi.size() - 1));
    if (!request.query().empty()) target.append("?").append(request.query());
    return target;
}

std::optional<Error> refuse_source(const net::HttpRequest& request, std::string_view origin,
                                   std::string_view root) {
    const auto refused = [](std::string message) {
        return Error{.code = ErrorCode::kForbidden, .message = std::move(message)};
    };
    const auto own = request.find("origin");
    if (own && (request.head.headers.count("origin") != 1 || *own != origin))
        return refused("pages of another origin may not use the console");
    const bool guarded = is_session(request, root) || is_api(request, root);
    const auto site = request.find("sec-fetch-site");
    // A WebSocket's handshake says its origin, see SessionAccess::admit_websocket().
    if (guarded && !asks_for_upgrade(request) && site && *site != "same-origin")
        return refused("only the console's own page may send this");
    if (is_write(request) && has_body(request) && !is_json(request))
        return refused("a body is application/json here");
    return std::nullopt;
}

}  // namespace crab::console
