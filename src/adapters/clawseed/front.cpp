#include "adapters/clawseed/front.hpp"

#include "json/display_name.hpp"
#include "json/writer.hpp"
#include "net/codec/url.hpp"
#include "trust/origin_policy.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

constexpr std::string_view kSubprotocol = "clawseed.v1";

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

std::optional<std::string> Front::refused_host(const net::HttpRequest& request) const {
    if (trust::is_host_allowed(request.head.host, services_.hub.options()->host_names))
        return std::nullopt;
    return "this Host is not served here; use the gateway's own name, or add yours to "
           "listen.host_names";
}

bool Front::is_named_origin(std::string_view origin) const {
    const auto named = trust::parse_origin(origin);
    return named && std::ranges::any_of(services_.hub.options()->allowed_origins,
                                        [&](const std::string& allowed) {
                                            return trust::parse_origin(allowed) == named;
                                        });
}

std::optional<std::string> Front::refused_source(const net::HttpRequest& request) const {
    if (auto refused = refused_host(request)) return refused;
    const auto options = services_.hub.options();
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
    if (!proven) {
        if (proven.error().code == ErrorCode::kUnavailable)
            return refuse(503, "UNAVAILABLE", proven.error().message, {{"Retry-After", "5"}});
        return refuse(401, "UNAUTHENTICATED", proven.error().message,
                      {{"WWW-Authenticate", "Bearer"}});
    }
    if (proven->principal->only_reads_metrics())
        return refuse(403, "FORBIDDEN", "this token reads /metrics and nothing else");
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
        chat->chat_ref.release();
        services_.hub.settle_chat(chat->chat);
        return refuse(429, "RATE_LIMITED", connection.error().message, {{"Retry-After", "5"}});
    }
    net::AcceptUpgrade accepted;
    DeviceSession::Caller caller{*connection, principal, good_until};
    accepted.handler = std::make_shared<DeviceSession>(services_.hub, loop_, parser_,
                                                       std::move(caller), std::move(*chat));
    if (offer->offers(kSubprotocol)) accepted.subprotocol = kSubprotocol;
    accepted.allow_deflate = options->permessage_deflate;
    accepted.options.max_message_bytes = options->max_message_bytes;
    accepted.options.ping_after = options->ping_after;
    if (services_.budgets != nullptr)
        accepted.options.budget = services_.budgets->of(principal->id);
    return accepted;
}

}  // namespace crab::clawseed
