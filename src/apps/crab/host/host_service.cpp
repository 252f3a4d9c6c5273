#include "apps/crab/host/host_service.hpp"

#include "apps/crab/host/tool_routes.hpp"
#include "trust/request_authentication.hpp"

namespace crab::app {

void HostService::refusal_body(const net::HttpRequest* request, int status, std::string_view reason, std::string& body) {
    if (!append_call_refusal(request, status, reason, body)) HttpService::refusal_body(request, status, reason, body);
}

Task<void> HostService::serve(net::HttpExchange& exchange) {
    const std::string_view path = exchange.request().path();
    const net::PeerAddress& peer = exchange.request().peer;
    if (path == "/healthz") {
        serve_health(exchange, exchange.request().method(), stopping_);
    } else if (!is_tools_path(path)) {
        respond_unknown_path(exchange);
    } else if (!method_fits(exchange, path)) {
        co_return;
    } else if (!is_own_user(peer)) {
        exchange.respond_error(403, "FORBIDDEN", "this socket is for the user who runs the host");
    } else {
        core::PrincipalRef& caller = callers_[peer.uid()];
        if (!caller) caller = trust::local_operator(peer.uid());
        if (path == "/v1/tools/call" && stopping_) {
            rtp::ToolsApi::refuse(exchange, 503, fail(ErrorCode::kUnavailable, "the host is stopping; call again when it is back").error());
        } else if (path == "/v1/tools/call") {
            co_await tools_.call(exchange, caller, "host");
        } else if (path == "/v1/tools") {
            tools_.list(exchange, *caller);
        } else {
            tools_.cancel(exchange, *caller);
        }
    }
}

}  // namespace crab::app
