#include "console/relay/api_relay.hpp"

#include "base/scope_exit.hpp"
#include "base/task/gather.hpp"
#include "console/relay/answer_relay.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace crab::console {
namespace {

constexpr Milliseconds kConnectPatience{10'000};
/// Fields of a browser's request that the gateway's routes read.
constexpr std::array<std::string_view, 6> kRelayed = {
    "accept", "if-none-match", "last-event-id", "idempotency-key", "range", "traceparent"};
constexpr std::string_view kActing = "Crab-Acting";
constexpr net::HttpHeader kFront{"Crab-Front", "console"};

}  // namespace

net::Refusal refusal_of(const Error& error) {
    net::Refusal refused{.status = net::http_status(error.code)};
    net::append_error_body(refused.body, token_of(error.code), error.message);
    return refused;
}

Task<void> ApiRelay::pass(net::HttpExchange& exchange, Passed passed) {
    if (passed.session == 0) co_return co_await send(exchange, passed, nullptr);
    const auto mine =
        running_.insert(running_.end(), Running{passed.session, &exchange.canceller()});
    const ScopeExit forget([&] { running_.erase(mine); });
    co_await send(exchange, passed, &*mine);
}

// The views of the request hold until its exchange has ended.
Task<void> ApiRelay::send(net::HttpExchange& exchange, const Passed& passed,
                          const Running* running) {
    const net::HttpRequest& asked = exchange.request();
    std::vector<net::HttpHeader> headers{kFront};
    if (!passed.acting.empty()) headers.push_back({kActing, passed.acting});
    for (const std::string_view name : kRelayed) {
        if (const auto value = asked.find(name)) headers.push_back({name, *value});
    }
    AnswerRelay answer(exchange);
    const net::HttpCall call{.method = passed.method,
                             .target = passed.target,
                             .content_type = asked.body.empty() ? "" : "application/json",
                             .body = asked.body,
                             .headers = headers,
                             .sink = &answer,
                             .max_body_bytes = UINT64_MAX};
    const auto fetch = [&]() -> Task<bool> {
        const auto result = co_await uses_.gateway.send(call, kNoDeadline);
        answer.finish(result, running != nullptr && running->session == 0);
        co_return true;
    };
    std::vector<Task<bool>> both;
    both.push_back(fetch());
    both.push_back(answer.pace());
    co_await gather(std::move(both));
}

net::Upgrade ApiRelay::open_socket(const net::WebSocketUpgrade& offer, Socket socket) {
    forget_closed();
    if (sockets_.size() >= kMostSockets)
        return refusal_of({.code = ErrorCode::kRateLimited,
                           .message = "too many chats are open in this console; close some"});
    const auto its = std::ranges::count(sockets_, socket.owner, &OpenSocket::owner);
    if (!socket.owner.empty() && static_cast<std::size_t>(its) >= kMostOfOneOwner)
        return refusal_of({.code = ErrorCode::kRateLimited,
                           .message = "too many chats of yours are open; close some"});
    auto [browser, gateway] = WebSocketRelay::make();
    browser->answer_instead(std::move(socket.instead));
    sockets_.push_back({socket.session, browser, gateway, std::move(socket.owner)});
    net::WebSocketTarget target{.server = {.addresses = {uses_.address}},
                                .host = "localhost",
                                .target = std::move(socket.target),
                                .headers = {{std::string(kFront.name), std::string(kFront.value)}}};
    if (!socket.acting.empty()) target.headers.emplace_back(kActing, std::move(socket.acting));
    for (const std::string_view protocol : offer.protocols) {
        if (protocol != socket.chosen) target.subprotocols.emplace_back(protocol);
    }
    net::AcceptUpgrade accepted{.handler = browser, .subprotocol = std::move(socket.chosen)};
    tasks_.spawn("console websocket", connect(std::move(target), browser, gateway));
    return accepted;
}

Task<void> ApiRelay::connect(net::WebSocketTarget target, WebSocketRelay::Ref browser,
                             WebSocketRelay::Ref gateway) {
    const Deadline deadline = uses_.loop.clock().steady_now() + kConnectPatience;
    const auto link =
        co_await net::websocket_connect(uses_.loop, std::move(target), gateway, deadline);
    if (!link) browser->close(1013, "the gateway does not answer");
}

void ApiRelay::forget_closed() {
    std::erase_if(sockets_, [](const OpenSocket& it) { return it.browser->is_over(); });
}

void ApiRelay::end_running(const std::function<bool(std::uint64_t session)>& is_over) {
    const std::vector<OpenSocket> sockets = sockets_;  // closing one may change the list
    for (const OpenSocket& socket : sockets)
        if (is_over(socket.session)) socket.browser->close(4401, "the session has ended");
    forget_closed();
    std::vector<std::uint64_t> over;
    for (const Running& running : running_)
        if (running.session != 0 && is_over(running.session)) over.push_back(running.session);
    // One at a time: what is cancelled may leave the list.
    for (const std::uint64_t session : over) {
        const auto of_it = std::ranges::find(running_, session, &Running::session);
        if (of_it == running_.end()) continue;
        of_it->session = 0;
        of_it->canceller->emit();
    }
}

void ApiRelay::abort_sockets() {
    for (const OpenSocket& socket : std::vector<OpenSocket>(sockets_)) socket.gateway->abort();
}

}  // namespace crab::console
