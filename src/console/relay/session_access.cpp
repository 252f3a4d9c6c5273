#include "console/relay/session_access.hpp"

#include "console/relay/request_source.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>

namespace crab::console {
namespace {

constexpr std::string_view kKeyField = "crab-console-key";
constexpr std::string_view kTicket = "crab-ticket.";  ///< a subprotocol
constexpr std::array<net::HttpHeader, 1> kNotKept{{{"Cache-Control", "no-store"}}};

}  // namespace

Error SessionAccess::no_session() const {
    return {.code = ErrorCode::kUnauthenticated, .message = options_.way_in};
}

Result<ConsoleSession> SessionAccess::session_of(const net::HttpRequest& request) {
    return sessions_.find(cookie_of(request, options_.cookie), only_field(request, kKeyField));
}

Result<SessionAccess::Admitted> SessionAccess::admit_websocket(
    const net::HttpRequest& request, std::string_view origin,
    std::span<const std::string_view> subprotocols) {
    if (only_field(request, "origin") != origin)
        return fail(ErrorCode::kForbidden, "only the console's own page may open a WebSocket");
    const auto brought = std::ranges::find_if(
        subprotocols, [](std::string_view it) { return it.starts_with(kTicket); });
    if (brought == subprotocols.end()) return fail(no_session());
    auto session = sessions_.redeem_ticket(cookie_of(request, options_.cookie),
                                           brought->substr(kTicket.size()));
    if (!session) return fail(no_session());
    return Admitted{.session = std::move(*session), .chosen = std::string(*brought)};
}

/// Empty: it goes. A page that came over TLS, by a proxy too, says so by its origin.
std::string SessionAccess::cookie_field(const net::HttpRequest& request,
                                        std::string_view value) const {
    const bool secure = options_.tls || only_field(request, "origin").starts_with("https://");
    return fmt::format("{}={}; Path={}; HttpOnly; SameSite=Strict{}{}", options_.cookie, value,
                       options_.root, secure ? "; Secure" : "", value.empty() ? "; Max-Age=0" : "");
}

void SessionAccess::answer_opened(net::HttpExchange& exchange,
                                  const ConsoleSessions::Opened& opened) const {
    const std::string cookie = cookie_field(exchange.request(), opened.cookie.reveal());
    exchange.respond(200, net::kJsonType, identity(opened.session, opened.key.reveal()),
                     {kNotKept[0], {"Set-Cookie", cookie}});
}

void SessionAccess::answer_ended(net::HttpExchange& exchange) const {
    const std::string cookie = cookie_field(exchange.request(), "");
    exchange.respond(204, "", "", {{"Set-Cookie", cookie}});
}

std::string SessionAccess::identity(const ConsoleSession& session, std::string_view key) const {
    std::string text;
    json::Writer writer(text);
    writer.begin_object();
    if (!key.empty()) writer.key("key").string(key);
    writer.key("principal").string(session.principal);
    writer.key("roles").begin_array();
    const std::string roles = session.roles.to_text();
    for (const auto role : std::views::split(roles, ','))
        if (!role.empty()) writer.string(std::string_view(role));
    writer.end_array();
    writer.key("may").begin_array();
    if (!options_.read_only) {
        if (is_operator(session)) writer.string("operate").string("approve");
        writer.string("chat");
    }
    writer.end_array();
    writer.key("expires_at").string(to_rfc3339(session.expires_at));
    writer.key("version").string(options_.version);
    writer.end_object();
    return text;
}

void SessionAccess::show(net::HttpExchange& exchange) {
    const auto session = session_of(exchange.request());
    if (!session) return exchange.respond_error(no_session());
    exchange.respond(200, net::kJsonType, identity(*session, {}), kNotKept);
}

void SessionAccess::give_ticket(net::HttpExchange& exchange) {
    const auto session = session_of(exchange.request());
    if (!session) return exchange.respond_error(no_session());
    std::string text;
    json::Writer writer(text);
    writer.begin_object();
    writer.key("ticket").string(sessions_.open_ticket(session->number).reveal());
    writer.end_object();
    exchange.respond(200, net::kJsonType, text, kNotKept);
}

}  // namespace crab::console
