#include "adapters/sw4rm/front.hpp"

#include "adapters/sw4rm/reflection_service.hpp"
#include "trust/request_authentication.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

// The messages of both are the same.
constexpr std::string_view kReflection =
                               "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                           kReflectionAlpha =
                               "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr std::string_view kToolService = "/sw4rm.tool.ToolService/",
                           kConnectorService = "/sw4rm.connector.ConnectorService/";

Task<void> nothing() { co_return; }

Error too_many_error(const core::Principal& caller) {
    return {.code = ErrorCode::kRateLimited,
            .message = fmt::format("calls run on too many connections of {} already; make them "
                                   "on fewer",
                                   caller.id),
            .details = {},
            .retryable = true};
}

}  // namespace

Front::Front(Services services)
    : services_(std::move(services)),
      calls_(services_.pipeline, services_.calls, services_.cancel),
      connector_(services_.pipeline, services_.register_provider) {}

void Front::drain() {
    draining_ = true;
    calls_.drain();
    health_.drain();
}

Result<core::PrincipalRef> Front::caller_of(const net::GrpcCall& call) const {
    // The first credential that is present is authoritative, even if it is invalid.
    const auto authorization = call.metadata("authorization");
    if (authorization && trust::bearer_of(*authorization).empty()) {
        return fail(ErrorCode::kUnauthenticated, "the authorization is not a bearer token");
    }
    auto principal = services_.authenticate(authorization.value_or(""), call);
    if (!principal) return principal;
    const std::string_view agent = call.metadata("x-agent-id").value_or("");
    const bool own = agent.empty() || agent == (*principal)->id;
    if (!own && !services_.pipeline.rules()->policy->may_act_for(**principal, agent)) {
        return fail(ErrorCode::kForbidden,
                    fmt::format("{} may not act for the agent that x-agent-id names; a rule under "
                                "policy with act_for lets it",
                                (*principal)->id));
    }
    return principal;
}

// No coroutine itself, so that a call costs one frame; nothing of a request's body is read before
// its caller is known.
Task<void> Front::call(net::GrpcCall call) {
    const std::string_view path = call.path();
    const auto serve = [&](auto& service, auto method, std::string_view operation,
                           bool while_draining) {
        Rpc rpc(std::move(call), operation);
        auto principal = caller_of(rpc.grpc());
        if (!principal) {
            rpc.fail(principal.error());
            return nothing();
        }
        net::Http2Stream& stream = rpc.grpc().stream();
        if (!stream.prove_caller((*principal)->id)) {
            rpc.fail(too_many_error(**principal));
            return nothing();
        }
        if (services_.budgets != nullptr && !stream.has_budget())
            stream.charge(services_.budgets->of((*principal)->id));
        if (draining_ && !while_draining) {
            rpc.fail(kShuttingDown, "the gateway is stopping; call again when it is back");
            return nothing();
        }
        return (service.*method)(std::move(rpc), std::move(*principal));
    };
    if (path.starts_with(kToolService)) {
        const std::string_view method = path.substr(kToolService.size());
        if (method == "Call") return serve(calls_, &CallService::call, "Call", false);
        if (method == "CallStream")
            return serve(calls_, &CallService::call_stream, "CallStream", false);
        if (method == "Cancel") return serve(calls_, &CallService::cancel, "Cancel", true);
    } else if (path.starts_with(kConnectorService)) {
        const std::string_view method = path.substr(kConnectorService.size());
        if (method == "DescribeTools")
            return serve(connector_, &ConnectorService::describe_tools, "DescribeTools", true);
        if (method == "RegisterProvider")
            return serve(connector_, &ConnectorService::register_provider, "RegisterProvider",
                         false);
    } else if (path == "/grpc.health.v1.Health/Check") {
        return health_.check(std::move(call));
    } else if (path == "/grpc.health.v1.Health/Watch") {
        return health_.watch(std::move(call));
    } else if ((path == kReflection || path == kReflectionAlpha) && call.peer().is_loopback()) {
        return serve_reflection(std::move(call));
    }
    call.finish(net::GrpcStatus::kUnimplemented,
                fmt::format("there is no method {}", path.substr(0, 200)));
    return nothing();
}

}  // namespace crab::sw4rm
