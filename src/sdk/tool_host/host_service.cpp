#include "sdk/tool_host/host_service.hpp"

#include "adapters/rtp/calls/route_errors.hpp"
#include "net/http/route_answers.hpp"
#include "net/loop/own_user.hpp"
#include "net/tls/connection.hpp"
#include "trust/request_authentication.hpp"

namespace crab::sdk {
namespace {

int status_of(ErrorCode code) {
    if (code == ErrorCode::kUnauthenticated) return 401;
    return code == ErrorCode::kUnavailable ? 503 : 403;
}

}  // namespace

bool LocalCallers::knows(const net::Connection& connection) {
    return net::is_own_user(connection.peer());
}

Result<core::PrincipalRef> LocalCallers::caller_of(const net::HttpRequest& request) {
    if (!net::is_own_user(request.peer))
        return fail(ErrorCode::kForbidden, "this socket is for the user who runs the host");
    core::PrincipalRef& caller = callers_[request.peer.uid()];
    if (!caller) caller = trust::local_operator(request.peer.uid());
    return caller;
}

/// A handshake that runs will say by itself how it ended.
Task<void> PairedCallers::before_call(const net::HttpRequest& request) {
    if (pairing_.running()) co_return;
    std::string certificate = request.certificate_der();
    if (!trust_.proves_lost_end(certificate)) co_return;
    auto complete = [&trust = trust_, certificate = std::move(certificate)]() -> Result<void> {
        trust.complete_lost_end(certificate);
        return {};
    };
    (void)co_await pool_.run(std::move(complete));
}

HostService::HostService(HostCallers& callers) : callers_(callers) {
    add_health_routes({"/healthz"}, {.who = net::Caller::kAnyone});
    callers_.add_routes(routes_);
}

net::BodyAdmission HostService::admit_body(const net::HttpRequest& request) {
    const net::RouteMatch& match = request.match;
    if (match.route == nullptr || match.route->who == net::Caller::kAnyone)
        return {.admitted = false, .budget = nullptr};
    const auto caller = callers_.caller_of(request);
    return {.admitted = caller.has_value(),
            .budget = caller ? budgets_.of((*caller)->id) : nullptr};
}

std::optional<net::Refusal> HostService::refuse_head(const net::HttpRequest& request) {
    const net::RouteMatch& match = request.match;
    if (match.route == nullptr || match.route->who == net::Caller::kAnyone) return std::nullopt;
    std::optional<Error> why;
    if (auto caller = callers_.caller_of(request); !caller) {
        why = std::move(caller.error());
    } else if (stopping_ && match.route->not_while_stopping) {
        why = fail(ErrorCode::kUnavailable, "the host is stopping; call again when it is back")
                  .error();
    }
    if (!why) return std::nullopt;
    net::Refusal refusal{.status = status_of(why->code)};
    net::append_route_error(refusal.body, match.route, *why);
    return refusal;
}

void PairedCallers::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Routes = net::Routes<core::PrincipalRef>;
    const auto open = [this](const net::HttpRequest& request, const net::WebSocketOffer& offer,
                             const core::PrincipalRef&) -> std::optional<net::Upgrade> {
        if (const auto may = trust_.may_pair(request.certificate_der()); !may)
            return net::Refusal{
                .status = 401, .content_type = {}, .body = may.error().message, .headers = {}};
        return pairing_.upgrade(request, offer);
    };
    for (const std::string_view path : pairing_.paths()) {
        routes.add_websocket(
            {.path = path, .who = net::Caller::kAnyone, .summary = "Pairing with a gateway"},
            [](const Routes::Request& request) {
                request.exchange.respond_error(426, "INVALID_ARGS", "this is a WebSocket",
                                               {{"Upgrade", "websocket"}});
            },
            open);
    }
}

std::optional<net::Upgrade> HostService::upgrade(const net::HttpRequest& request,
                                                 const net::WebSocketOffer& offer) {
    return routes_.upgrade(request, offer, nullptr);
}

void HostService::refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                               std::string& body) {
    if (!rtp::append_refusal(routes_.table(), request, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

Task<void> HostService::serve(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    const net::RouteMatch& match = request.match;
    if (!net::found_or_refused(exchange, match)) co_return;
    core::PrincipalRef principal;
    if (match.route->who != net::Caller::kAnyone) {
        auto caller = callers_.caller_of(request);
        if (!caller)  // changed since its head came
            co_return net::refuse(exchange, match.route, status_of(caller.error().code),
                                  caller.error());
        co_await callers_.before_call(request);
        principal = std::move(*caller);
    }
    const Request routed{exchange, principal, match.arguments};
    if (!routes_.serve_now(match, routed)) co_await routes_.serve(match, routed);
}

}  // namespace crab::sdk
