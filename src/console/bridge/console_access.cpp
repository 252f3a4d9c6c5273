#include "console/bridge/console_access.hpp"

#include "base/ascii.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::console {
namespace {

constexpr std::string_view kRoot = "/console/";
constexpr std::string_view kSessionPath = "/console/session";
constexpr std::string_view kKeyField = "crab-console-key";
constexpr std::string_view kTicket = "crab-ticket.";  ///< a subprotocol
constexpr std::array<net::HttpHeader, 1> kNotKept{{{"Cache-Control", "no-store"}}};

/// A cookie's value (RFC 6265, section 5.4); empty when it is not there, or more than once.
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

/// The one field of that name; empty when it is not there, or more than once.
std::string_view only_field(const net::HttpRequest& request, std::string_view name) {
    if (request.head.headers.count(name) != 1) return {};
    return *request.find(name);
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

std::string cookie_field(std::string_view name, std::string_view value, bool gone) {
    return fmt::format("{}={}; Path={}; HttpOnly; SameSite=Strict{}", name, value, kRoot,
                       gone ? "; Max-Age=0" : "");
}

}  // namespace

bool asks_for_upgrade(const net::HttpRequest& request) {
    return request.head.connection_upgrade && request.find("upgrade");
}

Error no_session() {
    return {.code = ErrorCode::kUnauthenticated,
            .message = "sign in: open the link that `crab console` prints (Enter makes another)"};
}

ConsoleAccess::ConsoleAccess(const Clock& clock, crypto::RandomSource& random,
                             SessionRecords& records, Options options)
    : options_(std::move(options)),
      origin_("http://" + options_.authority),
      cookie_name_("crab-console-" + options_.authority.substr(options_.authority.rfind(':') + 1)),
      records_(records),
      codes_(clock, random),
      sessions_(clock, random, options_.sessions),
      tries_(clock) {}

Secret<std::string> ConsoleAccess::open_link() {
    return Secret(fmt::format("{}{}#in={}", origin_, kRoot, codes_.open().reveal()));
}

std::optional<Error> ConsoleAccess::refuse_source(const net::HttpRequest& request) const {
    const auto refused = [](std::string message) {
        return Error{.code = ErrorCode::kForbidden, .message = std::move(message)};
    };
    if (request.head.host != options_.authority)
        return refused(fmt::format("the console is at {}{}, by no other name", origin_, kRoot));
    const auto origin = request.find("origin");
    if (origin && (request.head.headers.count("origin") != 1 || *origin != origin_))
        return refused("pages of another origin may not use the console");
    const bool is_api =
        request.path().starts_with(kSessionPath) || request.path().starts_with("/console/api/");
    const auto site = request.find("sec-fetch-site");
    // A WebSocket's handshake says its origin, see admit_websocket().
    if (is_api && !asks_for_upgrade(request) && site && *site != "same-origin")
        return refused("only the console's own page may send this");
    if (is_write(request) && has_body(request) && !is_json(request))
        return refused("a body is application/json here");
    return std::nullopt;
}

Result<ConsoleSession> ConsoleAccess::session_of(const net::HttpRequest& request) {
    return sessions_.find(cookie_of(request, cookie_name_), only_field(request, kKeyField));
}

Result<ConsoleAccess::Admitted> ConsoleAccess::admit_websocket(
    const net::HttpRequest& request, std::span<const std::string_view> subprotocols) {
    if (only_field(request, "origin") != origin_)
        return fail(ErrorCode::kForbidden, "only the console's own page may open a WebSocket");
    const auto brought = std::ranges::find_if(
        subprotocols, [](std::string_view it) { return it.starts_with(kTicket); });
    if (brought == subprotocols.end()) return fail(no_session());
    auto session =
        sessions_.redeem_ticket(cookie_of(request, cookie_name_), brought->substr(kTicket.size()));
    if (!session) return fail(no_session());
    return Admitted{.session = std::move(*session), .chosen = std::string(*brought)};
}

void ConsoleAccess::add_routes(Routes& routes) {
    const auto route = [](net::Method method, std::string_view path, std::string_view summary) {
        return net::Route{.method = method,
                          .path = path,
                          .summary = summary,
                          .body = net::RequestBodyLimits{.max_bytes = 4096}};
    };
    routes.add(route(net::Method::kPost, kSessionPath, "Sign in with a one-time code"),
               [this](const Request& request) { return sign_in(request); });
    routes.add(route(net::Method::kGet, kSessionPath, "Who is signed in"),
               [this](const Request& request) { show(request); });
    routes.add(route(net::Method::kDelete, kSessionPath, "Sign out"),
               [this](const Request& request) { sign_out(request); });
    routes.add(route(net::Method::kPost, "/console/session/ticket", "A ticket for a WebSocket"),
               [this](const Request& request) { give_ticket(request); });
}

Task<void> ConsoleAccess::sign_in(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    if (const auto counted = tries_.count(exchange.request().peer.ip()); !counted) {
        const auto seconds =
            std::chrono::ceil<std::chrono::seconds>(*counted.error().retry_after).count();
        const std::string text = fmt::format("{}", seconds);
        co_return exchange.respond_error(429, "RATE_LIMITED", counted.error().message,
                                         {{"Retry-After", text}});
    }
    json::Parser parser;
    const auto body = parser.parse(exchange.request().body);
    const auto code = body ? json::get_string(body->element(), "code") : std::nullopt;
    if (!code || !codes_.redeem(*code)) {
        records_.note_refused();
        co_return exchange.respond_error(
            fail(ErrorCode::kUnauthenticated,
                 "this link is used or too old; press Enter where `crab console` runs, or start "
                 "it, and open the new link")
                .error());
    }
    const ConsoleSessions::Opened opened = sessions_.open(options_.principal);
    if (const auto recorded = co_await records_.opened(opened.session.number); !recorded) {
        sessions_.end(opened.session.number);
        co_return exchange.respond_error(recorded.error());
    }
    exchange.respond(
        200, "application/json", identity(opened.session, opened.key.reveal()),
        {kNotKept[0], {"Set-Cookie", cookie_field(cookie_name_, opened.cookie.reveal(), false)}});
}

std::string ConsoleAccess::identity(const ConsoleSession& session, std::string_view key) const {
    std::string text;
    json::Writer writer(text);
    writer.begin_object();
    if (!key.empty()) writer.key("key").string(key);
    writer.key("principal").string(session.principal);
    writer.key("roles").begin_array().string("operator").end_array();
    writer.key("may").begin_array();
    if (!options_.read_only) writer.string("operate").string("approve").string("chat");
    writer.end_array();
    writer.key("expires_at").string(to_rfc3339(session.expires_at));
    writer.key("version").string(options_.version);
    writer.end_object();
    return text;
}

void ConsoleAccess::show(const Request& request) {
    const auto session = session_of(request.exchange.request());
    if (!session) return request.exchange.respond_error(no_session());
    request.exchange.respond(200, "application/json", identity(*session, {}), kNotKept);
}

void ConsoleAccess::sign_out(const Request& request) {
    const auto session = session_of(request.exchange.request());
    if (!session) return request.exchange.respond_error(no_session());
    sessions_.end(session->number);
    request.exchange.respond(204, "", "", {{"Set-Cookie", cookie_field(cookie_name_, "", true)}});
}

void ConsoleAccess::give_ticket(const Request& request) {
    const auto session = session_of(request.exchange.request());
    if (!session) return request.exchange.respond_error(no_session());
    std::string text;
    json::Writer writer(text);
    writer.begin_object();
    writer.key("ticket").string(sessions_.open_ticket(session->number).reveal());
    writer.end_object();
    request.exchange.respond(200, "application/json", text, kNotKept);
}

}  // namespace crab::console
