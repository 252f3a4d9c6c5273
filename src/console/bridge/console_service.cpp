#include "console/bridge/console_service.hpp"

#include "base/scope_exit.hpp"
#include "console/relay/request_source.hpp"

#include <utility>

namespace crab::console {
namespace {

constexpr Milliseconds kLastRecords{2'000};
const Error kReadOnly{.code = ErrorCode::kForbidden,
                      .message = "this console only reads: it was started with --read-only"};

bool needs_session(const net::HttpRequest& request) {
    return request.match.route != nullptr && request.match.route->who == net::Caller::kSession;
}

}  // namespace

ConsoleService::ConsoleService(Uses uses, bool read_only)
    : uses_(std::move(uses)), read_only_(read_only), tasks_(uses_.loop.executor()) {
    uses_.access.add_routes(routes_);
    for (const net::Method method : {net::Method::kGet, net::Method::kPost, net::Method::kPut,
                                     net::Method::kPatch, net::Method::kDelete}) {
        routes_.add({.method = method,
                     .path = "/console/api/{path...}",
                     .who = net::Caller::kSession,
                     .summary = "What the gateway answers the operator",
                     .body = net::RequestBodyLimits{.max_bytes = kMostBytes}},
                    [this, method](const Request& request) {
                        return serve_api(request, net::name_of(method));
                    });
    }
    routes_.add_websocket(
        {.path = "/console/api/ws/chat", .who = net::Caller::kSession, .summary = "The chat"},
        [](const Request& request) {
            request.exchange.respond_error(426, "INVALID_ARGS", "this is a WebSocket",
                                           {{"Upgrade", "websocket"}});
        },
        [this](const net::HttpRequest& request, const net::WebSocketOffer& offer,
               std::monostate) -> std::optional<net::Upgrade> {
            if (!offer) return net::AcceptUpgrade{};  // the server refuses what is wrong with it
            return open_socket(request, *offer);
        });
    routes_.add(
        {.path = "/console/{file...}", .who = net::Caller::kAnyone, .summary = "The page's files"},
        [this](const Request& request) { return serve_file(request); });
    for (const std::string_view path : {"/", "/console"}) {
        routes_.add({.path = path, .who = net::Caller::kAnyone, .summary = "The way to the page"},
                    [](const Request& request) {
                        request.exchange.respond(308, "", "", {{"Location", "/console/"}});
                    });
    }
}

std::optional<net::Refusal> ConsoleService::refuse_head(const net::HttpRequest& request) {
    SessionAccess& access = uses_.access.session();
    if (const auto refused = uses_.access.refuse_source(request)) return refusal_of(*refused);
    if (!needs_session(request) || asks_for_upgrade(request)) return std::nullopt;  // see upgrade()
    if (!access.session_of(request)) return refusal_of(access.no_session());
    if (read_only_ && is_api(request, access.root()) && request.method() != "GET")
        return refusal_of(kReadOnly);
    return std::nullopt;
}

net::BodyAdmission ConsoleService::admit_body(const net::HttpRequest& request) {
    return {.admitted = request.match.found() && request.match.route->body, .budget = nullptr};
}

Task<void> ConsoleService::serve(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    SessionAccess& access = uses_.access.session();
    if (needs_session(request)) {
        if (!access.session_of(request)) co_return exchange.respond_error(access.no_session());
        if (!exchange.prove_caller("session"))
            co_return exchange.respond_error(429, "RATE_LIMITED",
                                             "too many requests are under way");
    }
    co_await routes_.answer(exchange, {});
}

Task<void> ConsoleService::serve_api(const Request& request, std::string_view method) {
    SessionAccess& access = uses_.access.session();
    const net::HttpRequest& asked = request.exchange.request();
    const auto session = access.session_of(asked);
    if (!session) co_return request.exchange.respond_error(access.no_session());
    ApiRelay::Passed passed{.session = session->number,
                            .method = method,
                            .target = api_target(asked, access.root()),
                            .acting = {}};
    co_await uses_.gateway.pass(request.exchange, std::move(passed));
}

Task<void> ConsoleService::serve_file(const Request& request) {
    ApiRelay::Passed passed{
        .method = "GET", .target = std::string(request.exchange.request().path()), .acting = {}};
    co_await uses_.gateway.pass(request.exchange, std::move(passed));
}

std::optional<net::Upgrade> ConsoleService::upgrade(const net::HttpRequest& request,
                                                    const net::WebSocketOffer& offer) {
    if (auto answer = routes_.upgrade(request, offer, {})) return answer;
    return refusal_of({.code = ErrorCode::kNotFound, .message = "there is no WebSocket here"});
}

net::Upgrade ConsoleService::open_socket(const net::HttpRequest& request,
                                         const net::WebSocketUpgrade& offer) {
    SessionAccess& access = uses_.access.session();
    auto admitted = access.admit_websocket(request, uses_.access.origin(), offer.protocols);
    if (!admitted) return refusal_of(admitted.error());
    if (read_only_) return refusal_of(kReadOnly);
    return uses_.gateway.open_socket(offer, {.session = admitted->session.number,
                                             .target = api_target(request, access.root()),
                                             .chosen = std::move(admitted->chosen),
                                             .acting = {}});
}

void ConsoleService::begin() {
    look_.emplace(uses_.loop, std::chrono::seconds(1), [this] { end_what_is_over(); });
}

/// What runs in sessions that have ended is ended too.
void ConsoleService::end_what_is_over() {
    ConsoleSessions& sessions = uses_.access.sessions();
    for (const auto& ended : sessions.take_ended()) uses_.records.note_ended(ended);
    uses_.gateway.end_running([&](std::uint64_t number) { return !sessions.is_alive(number); });
    if (writing_ || !uses_.records.has_noted()) return;
    writing_ = true;
    tasks_.spawn("console session records", write_records());
}

Task<void> ConsoleService::write_records() {
    const ScopeExit over([this] { writing_ = false; });
    co_await uses_.records.write_noted(uses_.loop.clock().steady_now() + kLastRecords);
}

void ConsoleService::stop_sessions(std::function<void()> done) {
    look_.reset();
    ConsoleSessions& sessions = uses_.access.sessions();
    sessions.stop();
    for (const auto& ended : sessions.take_ended()) uses_.records.note_ended(ended);
    uses_.gateway.end_running([](std::uint64_t) { return true; });
    uses_.gateway.abort_sockets();
    const auto last = [](ConsoleService& self, std::function<void()> then) -> Task<void> {
        co_await self.write_records();
        then();
    };
    tasks_.spawn("last console session records", last(*this, std::move(done)));
}

}  // namespace crab::console
