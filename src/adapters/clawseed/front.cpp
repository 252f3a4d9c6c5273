#include "adapters/clawseed/front.hpp"

#include "base/scope_exit.hpp"
#include "json/display_name.hpp"
#include "json/writer.hpp"
#include "net/codec/url.hpp"
#include "trust/origin_policy.hpp"

#include <array>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr std::string_view kSubprotocol = "clawseed.v1";
constexpr std::string_view kEndpoint = "/ws/chat";

std::string error_body(std::string_view code, std::string_view message) {
    std::string body;
    json::Writer(body)
        .begin_object()
        .key("error")
        .string_lossy(message)
        .key("code")
        .string(code)
        .end_object();
    return body;
}

net::Upgrade refuse(int status, std::string_view code, std::string_view message,
                    net::OwnedHeaders headers = {}) {
    return net::Refusal{.status = status,
                        .content_type = "application/json",
                        .body = error_body(code, message),
                        .headers = std::move(headers)};
}

/// The first carrier that is not empty decides: header, subprotocol, query (section 1,
/// "Credential").
std::string credential_of(const net::HttpRequest& request, const net::WebSocketOffer& offer,
                          bool query_token) {
    if (const auto header = request.find("authorization")) {
        if (const std::string_view token = trust::bearer_of(*header); !token.empty())
            return std::string(token);
    }
    if (offer) {
        for (const std::string_view protocol : offer->protocols) {
            if (protocol.starts_with("bearer.") && protocol.size() > 7)
                return std::string(protocol.substr(7));
        }
    }
    if (!query_token) return {};
    return net::find_query(request.query(), "token").value_or("");
}

trust::RequestPeer peer_of(const net::HttpRequest& request) {
    const net::PeerAddress& peer = request.peer;
    return {.loopback = peer.is_loopback(),
            .text = peer.is_unix() ? fmt::format("{}", peer.uid()) : peer.ip()};
}

}  // namespace

OpeningRefusal refusal_of(const Error& error) {
    if (error.code == ErrorCode::kForbidden)
        return {.status = 403, .code = "SESSION_OWNER_MISMATCH"};
    if (error.code == ErrorCode::kNotFound) return {.status = 404, .code = "NOT_FOUND"};
    return {.status = 503, .code = "UNAVAILABLE"};
}

std::string_view Front::local_path(std::string_view path) const {
    const std::string prefix = services_.hub.options()->path_prefix;
    if (!path.starts_with(prefix)) return {};
    return path.substr(prefix.size());
}

bool Front::owns(std::string_view path) const {
    const std::string_view local = local_path(path);
    return local == kEndpoint || local == "/health" || local == "/pair" || local == "/webhook" ||
           local == "/api/tools" || local == "/api/status" || local == kUploadPath ||
           local == kChallengePath || local == kKeyTokenPath || local == "/api/sessions" ||
           local.starts_with("/api/sessions/");
}

bool Front::is_open_to_strangers(std::string_view path) const {
    const std::string_view local = local_path(path);
    return local == "/pair" || local == kChallengePath || local == kKeyTokenPath;
}

std::optional<std::string> Front::refused_source(const net::HttpRequest& request) const {
    const auto options = services_.hub.options();
    if (!trust::is_host_allowed(request.head.host, options->host_names)) {
        return "this Host is not served here; use the gateway's own name, or add yours to "
               "listen.host_names";
    }
    if (!trust::is_origin_allowed(request.find("origin"), request.tls ? "https" : "http",
                                  request.head.host, options->allowed_origins)) {
        return "pages of this Origin may not use the gateway; add it to listen.allowed_origins";
    }
    return std::nullopt;
}

Result<trust::Proven> Front::authenticate(const net::HttpRequest& request,
                                          std::string_view token) const {
    const trust::RequestAuthentication authentication(services_.credentials,
                                                      services_.hub.options()->open_loopback);
    return authentication.authenticate(token, [&] { return peer_of(request); });
}

std::optional<net::Upgrade> Front::refused_handshake(const net::HttpRequest& request,
                                                     const net::WebSocketOffer& offer) const {
    if (request.method() != "GET")
        return refuse(405, "INVALID_ARGS", "a WebSocket is opened with GET", {{"Allow", "GET"}});
    if (!offer) {
        net::OwnedHeaders headers;
        if (offer.error().status == 426)
            headers = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
        return refuse(offer.error().status, "INVALID_ARGS", offer.error().reason,
                      std::move(headers));
    }
    return std::nullopt;
}

net::Upgrade Front::upgrade(const net::HttpRequest& request, const net::WebSocketOffer& offer) {
    if (auto refused = refused_handshake(request, offer)) return std::move(*refused);
    if (auto refused = refused_source(request)) return refuse(403, "FORBIDDEN", *refused);
    const auto proven =
        authenticate(request, credential_of(request, offer, services_.hub.options()->query_token));
    if (!proven)
        return refuse(401, "UNAUTHENTICATED", proven.error().message,
                      {{"WWW-Authenticate", "Bearer"}});
    return upgrade_as(request, offer, proven->principal, proven->good_until);
}

net::Upgrade Front::upgrade_as(const net::HttpRequest& request, const net::WebSocketOffer& offer,
                               const core::PrincipalRef& principal,
                               std::optional<SystemTime> good_until) {
    if (auto refused = refused_handshake(request, offer)) return std::move(*refused);
    const auto options = services_.hub.options();
    const std::string session_id = net::find_query(request.query(), "session_id").value_or("");
    if (!session_id.empty() && !core::is_chat_session_id(session_id)) {
        return refuse(400, "INVALID_ARGS", "session_id is 1 to 128 of A-Z a-z 0-9 . _ -");
    }
    std::string name = net::find_query(request.query(), "name").value_or("");
    if (!name.empty()) {
        auto read = json::read_display_name(name);
        if (!read) return refuse(400, "INVALID_ARGS", "name: " + read.error().message);
        name = std::move(*read);
    }
    auto chat = services_.hub.open_chat(principal, session_id, name,
                                        net::find_query(request.query(), "persona").value_or(""));
    if (!chat) {
        const OpeningRefusal refusal = refusal_of(chat.error());
        return refuse(refusal.status, refusal.code, chat.error().message);
    }
    auto connection = services_.hub.enter(*principal);
    if (!connection) {
        chat->seat.release();
        services_.hub.settle_chat(chat->chat);
        return refuse(429, "RATE_LIMITED", connection.error().message, {{"Retry-After", "5"}});
    }
    net::AcceptUpgrade accepted;
    accepted.handler = std::make_shared<DeviceSession>(services_.hub, loop_, parser_, *connection,
                                                       principal, std::move(*chat), good_until);
    if (offer->offers(kSubprotocol)) accepted.subprotocol = kSubprotocol;
    accepted.allow_deflate = options->permessage_deflate;
    accepted.options.max_message_bytes = options->max_message_bytes;
    accepted.options.ping_after = options->ping_after;
    if (services_.budgets != nullptr)
        accepted.options.budget = services_.budgets->of(principal->id);
    return accepted;
}

Task<void> Front::serve(net::HttpExchange& exchange) {
    const ScopeExit done([this] { parser_.shrink(); });
    const net::HttpRequest& request = exchange.request();
    const std::string_view path = local_path(request.path());
    const std::string_view method = request.method_or_get_for_head();
    const auto expect = [&](std::string_view wanted) {
        if (method == wanted) return true;
        exchange.respond_error(405, "INVALID_ARGS", fmt::format("use {}", wanted),
                               {{"Allow", wanted == "GET" ? "GET, HEAD" : wanted}});
        return false;
    };
    if (path == kEndpoint) {
        if (!expect("GET")) co_return;
        exchange.respond_error(426, "INVALID_ARGS",
                               "this is a WebSocket endpoint; ask for an upgrade",
                               {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}});
        co_return;
    }
    if (auto refused = refused_source(request)) {
        exchange.respond_error(403, "FORBIDDEN", *refused);
        co_return;
    }
    if (path == "/health") {
        if (!expect("GET")) co_return;
        const bool open = services_.hub.options()->open_loopback;
        exchange.respond(
            200, "application/json",
            fmt::format(R"({{"status":"ok","paired":true,"require_pairing":{},"runtime":{{}}}})",
                        !open));
        co_return;
    }
    if (path == "/pair") {
        if (expect("POST")) co_await pair(exchange);
        co_return;
    }
    if (path == kChallengePath || path == kKeyTokenPath) {
        if (expect("POST")) path == kChallengePath ? challenge(exchange) : key_token(exchange);
        co_return;
    }
    const auto proven =
        authenticate(request, trust::bearer_of(request.find("authorization").value_or("")));
    if (!proven) {
        exchange.respond_error(401, "UNAUTHENTICATED", proven.error().message,
                               {{"WWW-Authenticate", "Bearer"}});
        co_return;
    }
    exchange.prove_caller();
    const core::PrincipalRef& principal = proven->principal;
    if (path == kUploadPath) {
        if (expect("POST")) co_await upload(exchange, principal);
        co_return;
    }
    // A webhook is for scripts; what an app shows of its own chats is for devices as well.
    const bool is_app = principal->may(core::Role::kDevice) && path != "/webhook";
    if (!is_app && !principal->may(core::Role::kCaller)) {
        exchange.respond_error(
            403, "FORBIDDEN",
            "your token does not let you use the REST surface; ask for one with the role caller");
        co_return;
    }
    if (path == "/api/tools") {
        if (expect("GET")) list_tools(exchange, *principal);
    } else if (path == "/api/status") {
        if (expect("GET")) status(exchange);
    } else if (path == "/webhook") {
        if (expect("POST")) co_await webhook(exchange, principal);
    } else {
        co_await serve_sessions(exchange, principal, path);
    }
}

Task<void> Front::serve_sessions(net::HttpExchange& exchange, core::PrincipalRef principal,
                                 std::string_view path) {
    const std::string_view method = exchange.request().method_or_get_for_head();
    constexpr std::string_view kBelow = "/api/sessions/";
    if (path.starts_with(kBelow) && !(path == "/api/sessions/running" && method == "GET")) {
        co_await sessions(exchange, principal, path.substr(kBelow.size()));
    } else if (method != "GET") {
        exchange.respond_error(405, "INVALID_ARGS", "use GET", {{"Allow", "GET, HEAD"}});
    } else {
        co_await list_sessions(exchange, principal, path.starts_with(kBelow));
    }
}

}  // namespace crab::clawseed
