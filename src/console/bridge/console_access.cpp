#include "console/bridge/console_access.hpp"

#include "console/relay/request_source.hpp"
#include "json/parser.hpp"

#include <fmt/format.h>

namespace crab::console {
namespace {

constexpr std::string_view kRoot = "/console/";
constexpr std::string_view kSessionPath = "/console/session";
constexpr std::string_view kWayIn =
    "sign in: open the link that `crab console` prints (Enter makes another)";

SessionAccess::Options access_options(const ConsoleAccess::Options& options) {
    // With the port: all ports of a host share its cookies, other consoles' too.
    const std::string port = options.authority.substr(options.authority.rfind(':') + 1);
    return {.cookie = "crab-console-" + port,
            .version = options.version,
            .read_only = options.read_only,
            .way_in = std::string(kWayIn)};
}

}  // namespace

ConsoleAccess::ConsoleAccess(const Clock& clock, crypto::RandomSource& random,
                             SessionRecords& records, Options options)
    : options_(std::move(options)),
      origin_("http://" + options_.authority),
      records_(records),
      codes_(clock, random),
      sessions_(clock, random, options_.sessions),
      access_(sessions_, access_options(options_)),
      tries_(clock) {}

Secret<std::string> ConsoleAccess::open_link() {
    return Secret(fmt::format("{}{}#in={}", origin_, kRoot, codes_.open().reveal()));
}

std::optional<Error> ConsoleAccess::refuse_source(const net::HttpRequest& request) const {
    if (request.head.host != options_.authority)
        return Error{
            .code = ErrorCode::kForbidden,
            .message = fmt::format("the console is at {}{}, by no other name", origin_, kRoot)};
    return console::refuse_source(request, origin_, kRoot);
}

void ConsoleAccess::add_routes(Routes& routes) {
    const auto route = [](net::Method method, std::string_view path, std::string_view summary) {
        const bool signs_in = method == net::Method::kPost && path == kSessionPath;
        return net::Route{.method = method,
                          .path = path,
                          .who = signs_in ? net::Caller::kAnyone : net::Caller::kSession,
                          .summary = summary,
                          .body = net::RequestBodyLimits{.max_bytes = 4096}};
    };
    routes.add(route(net::Method::kPost, kSessionPath, "Sign in with a one-time code"),
               [this](const Request& request) { return sign_in(request); });
    routes.add(route(net::Method::kGet, kSessionPath, "Who is signed in"),
               [this](const Request& request) { access_.show(request.exchange); });
    routes.add(route(net::Method::kDelete, kSessionPath, "Sign out"),
               [this](const Request& request) { sign_out(request); });
    routes.add(route(net::Method::kPost, "/console/session/ticket", "A ticket for a WebSocket"),
               [this](const Request& request) { access_.give_ticket(request.exchange); });
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
    const ConsoleSessions::Opened opened =
        sessions_.open({.principal = options_.principal, .roles = {core::Role::kOperator}});
    if (const auto recorded = co_await records_.opened(opened.session.number); !recorded) {
        sessions_.end(opened.session.number);
        co_return exchange.respond_error(recorded.error());
    }
    access_.answer_opened(exchange, opened);
}

void ConsoleAccess::sign_out(const Request& request) {
    const auto session = access_.session_of(request.exchange.request());
    if (!session) return request.exchange.respond_error(access_.no_session());
    sessions_.end(session->number);
    access_.answer_ended(request.exchange);
}

}  // namespace crab::console
