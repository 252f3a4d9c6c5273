#include "adapters/sw4rm/front.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr std::string_view kToolService = "/sw4rm.tool.ToolService/";

Task<void> nothing() { co_return; }

}  // namespace

Front::Front(Services services) : services_(std::move(services)), calls_(services_.pipeline, services_.cancel) {}

Result<core::PrincipalRef> Front::caller_of(const net::GrpcCall& call) const {
    auto principal = services_.authenticate(call.metadata("authorization").value_or(""), call.peer());
    if (!principal) return principal;
    const std::string_view agent = call.metadata("x-agent-id").value_or("");
    const bool own = agent.empty() || agent == (*principal)->id || (*principal)->id.ends_with(fmt::format("/{}", agent));
    if (!own && !(*principal)->roles.has(core::Role::kOperator)) {
        return fail(ErrorCode::kForbidden, fmt::format("{} may not act for the agent that x-agent-id names", (*principal)->id));
    }
    return principal;
}

// No coroutine itself, so that a call costs one frame; nothing of a request's body is read before its caller is known.
Task<void> Front::call(net::GrpcCall call) {
    const std::string_view path = call.path();
    const auto method = path.starts_with(kToolService) ? path.substr(kToolService.size()) : std::string_view();
    using Serve = Task<void> (CallService::*)(Rpc, core::PrincipalRef);
    struct Route {
        std::string_view name;
        Serve serve;
    };
    static constexpr Route kRoutes[] = {{"Call", &CallService::call}, {"CallStream", &CallService::call_stream}, {"Cancel", &CallService::cancel}};
    for (const Route& route : kRoutes) {
        if (route.name != method) continue;
        Rpc rpc(std::move(call), route.name);
        auto principal = caller_of(rpc.grpc());
        if (!principal) {
            rpc.fail(principal.error());
            return nothing();
        }
        if (draining_ && route.serve != &CallService::cancel) {
            rpc.fail(kShuttingDown, "the gateway is stopping; call again when it is back");
            return nothing();
        }
        return (calls_.*route.serve)(std::move(rpc), std::move(*principal));
    }
    call.finish(net::GrpcStatus::kUnimplemented, fmt::format("there is no method {}", path.substr(0, 200)));
    return nothing();
}

}  // namespace crab::sw4rm
