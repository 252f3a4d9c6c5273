#include "console/bridge/console_service.hpp"

#include "base/scope_exit.hpp"
#include "base/task/gather.hpp"
#include "console/bridge/answer_relay.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::console {
namespace {

constexpr std::string_view kApi = "/console/api";
constexpr std::string_view kChat = "/console/api/ws/chat";
constexpr std::size_t kMostSockets = 64;
constexpr Milliseconds kConnectPatience{10'000};
constexpr Milliseconds kLastRecords{2'000};
/// Fields of a browser's request that the gateway's routes read.
constexpr std::array<std::string_view, 6> kRelayed = {
    "accept", "if-none-match", "last-event-id", "idempotency-key", "range", "traceparent"};

bool is_api(const net::HttpRequest& request) { return request.path().starts_with("/console/api/"); }

/// Path and query at the gateway.
std::string target_of(const net::HttpRequest& request) {
    std::string target(request.path().substr(kApi.size()));
    if (!request.query().empty()) target.append("?").append(request.query());
    return target;
}

net::Refusal refusal(const Error& error) {
    net::Refusal refused{.status = net::http_status(error.code)};
    net::append_error_body(refused.body, token_of(error.code), error.message);
    return refused;
}

}  // namespace

ConsoleService::ConsoleService(Uses uses, bool read_only)
    : uses_(std::move(uses)), read_only_(read_only), tasks_(uses_.loop.executor()) {
    uses_.access.add_routes(routes_);
    for (const net::Method method : {net::Method::kGet, net::Method::kPost, net::Method::kPut,
                                     net::Method::kPatch, net::Method::kDelete}) {
        routes_.add({.method = method,
                     .path = "/console/api/{path...}",
                     .summary = "What the gateway answers the operator",
                     .body = net::RequestBodyLimits{.max_bytes = kMostBytes}},
                    [this, method](const Request& request) {
                        return serve_api(request, net::name_of(method));
                    });
    }
    routes_.add({.path = "/console/{file...}", .summary = "The page's files"},
                [this](const Request& request) { return serve_file(request); });
    for (const std::string_view path : {"/", "/console"}) {
        routes_.add({.path = path, .summary = "The way to the page"}, [](const Request& request) {
            request.exchange.respond(308, "", "", {{"Location", "/console/"}});
        });
    }
}

std::optional<net::Refusal> ConsoleService::refuse_head(const net::HttpRequest& request) {
    if (const auto refused = uses_.access.refuse_source(request)) return refusal(*refused);
    if (!is_api(request) || asks_for_upgrade(request)) return std::nullopt;  // see upgrade()
    if (!uses_.access.session_of(request)) return refusal(no_session());
    if (read_only_ && request.method() != "GET") {
        return refusal({.code = ErrorCode::kForbidden,
                        .message = "this console only reads: it was started with --read-only"});
    }
    return std::nullopt;
}

net::BodyAdmission ConsoleService::admit_body(const net::HttpRequest& request) {
    return {.admitted = is_api(request) || request.path() == "/console/session", .budget = nullptr};
}

Task<void> ConsoleService::serve(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    if (!is_api(request)) co_return co_await routes_.answer(exchange, {});
    const auto session = uses_.access.session_of(request);
    if (!session) co_return exchange.respond_error(no_session());
    if (!exchange.prove_caller("session"))
        co_return exchange.respond_error(429, "RATE_LIMITED", "too many requests are under way");
    const auto mine =
        running_.insert(running_.end(), Running{session->number, &exchange.canceller()});
    const ScopeExit forget([&] { running_.erase(mine); });
    co_await routes_.answer(exchange, {});
}

Task<void> ConsoleService::serve_api(const Request& request, std::string_view method) {
    return relay(request.exchange, method, target_of(request.exchange.request()));
}

Task<void> ConsoleService::serve_file(const Request& request) {
    return relay(request.exchange, "GET", std::string(request.exchange.request().path()));
}

// The views of the request hold until its exchange has ended.
Task<void> ConsoleService::relay(net::HttpExchange& exchange, std::string_view method,
                                 std::string target) {
    const net::HttpRequest& asked = exchange.request();
    std::vector<net::HttpHeader> headers{{"Crab-Front", "console"}};
    for (const std::string_view name : kRelayed) {
        if (const auto value = asked.find(name)) headers.push_back({name, *value});
    }
    AnswerRelay answer(exchange);
    const net::HttpCall call{.method = method,
                             .target = target,
                             .content_type = asked.body.empty() ? "" : "application/json",
                             .body = asked.body,
                             .headers = headers,
                             .sink = &answer,
                             .max_body_bytes = UINT64_MAX};
    const auto fetch = [&]() -> Task<bool> {
        answer.finish(co_await uses_.gateway.send(call, kNoDeadline));
        co_return true;
    };
    std::vector<Task<bool>> both;
    both.push_back(fetch());
    both.push_back(answer.pace());
    co_await gather(std::move(both));
}

std::optional<net::Upgrade> ConsoleService::upgrade(const net::HttpRequest& request,
                                                    const net::WebSocketOffer& offer) {
    if (request.path() != kChat)
        return refusal({.code = ErrorCode::kNotFound, .message = "there is no WebSocket here"});
    if (!offer)
        return net::Refusal{.status = offer.error().status,
                            .content_type = {},
                            .body = std::string(offer.error().reason),
                            .headers = {}};
    return open_socket(request, *offer);
}

net::Upgrade ConsoleService::open_socket(const net::HttpRequest& request,
                                         const net::WebSocketUpgrade& offer) {
    auto admitted = uses_.access.admit_websocket(request, offer.protocols);
    if (!admitted) return refusal(admitted.error());
    if (read_only_)
        return refusal({.code = ErrorCode::kForbidden,
                        .message = "this console only reads: it was started with --read-only"});
    std::erase_if(sockets_, [](const OpenSocket& it) { return it.browser->is_over(); });
    if (sockets_.size() >= kMostSockets)
        return refusal({.code = ErrorCode::kRateLimited,
                        .message = "too many chats are open in this console; close some"});
    auto [browser, gateway] = WebSocketRelay::make();
    sockets_.push_back({admitted->session.number, browser, gateway});
    net::WebSocketTarget target{.server = {.addresses = {uses_.address}},
                                .host = "localhost",
                                .target = target_of(request),
                                .headers = {{"Crab-Front", "console"}}};
    for (const std::string_view protocol : offer.protocols) {
        if (protocol != admitted->chosen) target.subprotocols.emplace_back(protocol);
    }
    net::AcceptUpgrade accepted{.handler = browser, .subprotocol = std::move(admitted->chosen)};
    tasks_.spawn("console websocket", connect(std::move(target), browser, gateway));
    return accepted;
}

Task<void> ConsoleService::connect(net::WebSocketTarget target, WebSocketRelay::Ref browser,
                                   WebSocketRelay::Ref gateway) {
    const Deadline deadline = uses_.loop.clock().steady_now() + kConnectPatience;
    const auto link =
        co_await net::websocket_connect(uses_.loop, std::move(target), gateway, deadline);
    if (!link) browser->close(1013, "the gateway does not answer");
}

void ConsoleService::begin() {
    look_.emplace(uses_.loop, std::chrono::seconds(1), [this] { end_what_is_over(); });
}

/// What runs in sessions that have ended is ended too.
void ConsoleService::end_what_is_over() {
    for (const auto& ended : uses_.access.sessions().take_ended()) {
        uses_.records.note_ended(ended);
        end_running(ended.number);
    }
    std::erase_if(sockets_, [](const OpenSocket& it) { return it.browser->is_over(); });
    if (writing_ || !uses_.records.has_noted()) return;
    writing_ = true;
    tasks_.spawn("console session records", write_records());
}

Task<void> ConsoleService::write_records() {
    const ScopeExit over([this] { writing_ = false; });
    co_await uses_.records.write_noted(uses_.loop.clock().steady_now() + kLastRecords);
}

void ConsoleService::end_running(std::uint64_t session) {
    const std::vector<OpenSocket> sockets = sockets_;  // closing one may change the list
    for (const OpenSocket& socket : sockets)
        if (socket.session == session) socket.browser->close(4401, "the session has ended");
    // One at a time: what is cancelled may leave the list.
    for (std::size_t left = running_.size(); left > 0; --left) {
        const auto of_it = std::ranges::find(running_, session, &Running::session);
        if (of_it == running_.end()) return;
        of_it->session = 0;
        of_it->canceller->emit();
    }
}

void ConsoleService::stop_sessions(std::function<void()> done) {
    look_.reset();
    uses_.access.sessions().stop();
    for (const auto& ended : uses_.access.sessions().take_ended()) {
        uses_.records.note_ended(ended);
        end_running(ended.number);
    }
    for (const OpenSocket& socket : std::vector<OpenSocket>(sockets_)) socket.gateway->abort();
    const auto last = [](ConsoleService& self, std::function<void()> then) -> Task<void> {
        co_await self.write_records();
        then();
    };
    tasks_.spawn("last console session records", last(*this, std::move(done)));
}

}  // namespace crab::console
