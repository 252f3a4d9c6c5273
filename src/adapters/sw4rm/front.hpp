#pragma once

#include "adapters/sw4rm/call_service.hpp"
#include "adapters/sw4rm/connector_service.hpp"
#include "adapters/sw4rm/health_service.hpp"
#include "net/grpc/grpc_service.hpp"
#include "net/loop/peer_address.hpp"

#include <functional>
#include <string_view>

namespace crab::sw4rm {

/// What the gRPC listener serves on one event loop: authenticates each RPC and routes it to its
/// service (docs/protocols/sw4rm.md, sections 1 and 2).
class Front final : public net::GrpcService {
public:
    struct Services {
        core::Pipeline& pipeline;
        core::CallRunner& calls;
        /// Authenticates an RPC; `authorization` is empty when it has none. Errors:
        /// kUnauthenticated, kForbidden.
        std::function<Result<core::PrincipalRef>(std::string_view authorization,
                                                 const net::GrpcCall& call)>
            authenticate;
        CallService::Cancel cancel;
        ConnectorService::Register register_provider;
        /// By principal; null: received bytes are not limited
        ByteBudgets* budgets = nullptr;
    };
    explicit Front(Services services);

    Task<void> call(net::GrpcCall call) override;
    /// From now on health reports NOT_SERVING and new calls are refused with AGENT_SHUTDOWN.
    void drain();

private:
    Result<core::PrincipalRef> caller_of(const net::GrpcCall& call) const;

    Services services_;
    CallService calls_;
    ConnectorService connector_;
    HealthService health_;
    bool draining_ = false;
};

}  // namespace crab::sw4rm
