#include "sdk/tool_host/host_service.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/calls/tool_routes.hpp"
#include "json/writer.hpp"
#include "net/tls/connection.hpp"
#include "trust/request_authentication.hpp"

namespace crab::sdk {
namespace {

int status_of(ErrorCode code) {
    if (code == ErrorCode::kUnauthenticated) return 401;
    return code == ErrorCode::kUnavailable ? 503 : 403;
}

/// In the response schema for a call, else as other errors are.
net::Refusal refusal_of(std::string_view path, const Error& error) {
    net::Refusal refusal{.status = status_of(error.code)};
    if (path == "/v1/tools/call") {
        const core::Outcome outcome = fail(error);
        rtp::append_call_response(refusal.body, "", "", 0, outcome);
    } else {
        json::Writer writer(refusal.body);
        writer.begin_object()
            .key("error")
            .string_lossy(error.message)
            .key("code")
            .string(rtp::wire_code(error.code))
            .end_object();
    }
    return refusal;
}

}  // namespace

bool LocalCallers::knows(const net::Connection& connection) {
    return rtp::is_own_user(connection.peer());
}

Result<core::PrincipalRef> LocalCallers::caller_of(const net::HttpRequest& request) {
    if (!rtp::is_own_user(request.peer))
        return fail(ErrorCode::kForbidden, "this socket is for the user who runs the host");
    core::PrincipalRef& caller = callers_[request.peer.uid()];
    if (!caller) caller = trust::local_operator(request.peer.uid());
    return caller;
}

/// A handshake that runs will say by itself how it ended.
Task<void> PairedCallers::let_in(const net::HttpRequest& request) {
    if (pairing_.running()) co_return;
    std::string certificate = request.certificate_der();
    if (!trust_.proves_lost_end(certificate)) co_return;
    auto complete = [&trust = trust_, certificate = std::move(certificate)]() -> Result<void> {
        trust.complete_lost_end(certificate);
        return {};
    };
    (void)co_await pool_.run(std::move(complete));
}

net::BodyAdmission HostService::admit_body(const net::HttpRequest& request) {
    if (!rtp::is_tools_path(request.path())) return {.admitted = false, .budget = nullptr};
    const auto caller = callers_.caller_of(request);
    return {.admitted = caller.has_value(),
            .budget = caller ? budgets_.of((*caller)->id) : nullptr};
}

std::optional<net::Refusal> HostService::refuse_head(const net::HttpRequest& request) {
    if (!rtp::is_tools_path(request.path())) return std::nullopt;
    if (const auto caller = callers_.caller_of(request); !caller)
        return refusal_of(request.path(), caller.error());
    if (stopping_ && request.path() == "/v1/tools/call") {
        return refusal_of(request.path(), fail(ErrorCode::kUnavailable,
                                               "the host is stopping; call again when it is back")
                                              .error());
    }
    return std::nullopt;
}

std::optional<net::Upgrade> PairedCallers::upgrade(const net::HttpRequest& request,
                                                   const net::WebSocketOffer& offer) {
    if (pairing_.owns(request.path())) {
        if (const auto may = trust_.may_pair(request.certificate_der()); !may)
            return net::Refusal{
                .status = 401, .content_type = {}, .body = may.error().message, .headers = {}};
    }
    return pairing_.upgrade(request, offer);
}

std::optional<net::Upgrade> HostService::upgrade(const net::HttpRequest& request,
                                                 const net::WebSocketOffer& offer) {
    return callers_.upgrade(request, offer);
}

void HostService::refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                               std::string& body) {
    if (!rtp::append_refusal(request, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

Task<void> HostService::serve(net::HttpExchange& exchange) {
    const std::string_view path = exchange.request().path();
    if (path == "/healthz") {
        rtp::serve_health(exchange, exchange.request().method(), stopping_);
    } else if (callers_.is_websocket_path(path)) {
        exchange.respond_error(426, "INVALID_ARGS", "this is a WebSocket",
                               {{"Upgrade", "websocket"}});
    } else if (!rtp::is_tools_path(path)) {
        rtp::respond_unknown_path(exchange);
    } else if (rtp::method_fits(exchange, path)) {
        const auto caller = callers_.caller_of(exchange.request());
        // changed since its head came
        if (!caller)
            co_return rtp::ToolsApi::refuse(exchange, status_of(caller.error().code),
                                            caller.error());
        co_await callers_.let_in(exchange.request());
        if (path == "/v1/tools/call") {
            co_await tools_.call(exchange, *caller, "host");
        } else if (path == "/v1/tools") {
            tools_.list(exchange, **caller);
        } else {
            tools_.cancel(exchange, **caller);
        }
    }
}

}  // namespace crab::sdk
