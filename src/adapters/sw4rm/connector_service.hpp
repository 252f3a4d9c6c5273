#pragma once

#include "adapters/sw4rm/rpc.hpp"
#include "core/pipeline.hpp"

namespace crab::sw4rm {

/// `sw4rm.connector.ConnectorService` (docs/protocols/sw4rm.md, section 12). One per event loop.
class ConnectorService {
public:
    explicit ConnectorService(core::Pipeline& pipeline) : pipeline_(pipeline) {}

    /// What the caller may call, sorted; of one source, under its own names, when the request names it.
    Task<void> describe_tools(Rpc rpc, core::PrincipalRef principal);
    /// No provider is configured as `grpc` yet, so none can register.
    Task<void> register_provider(Rpc rpc, core::PrincipalRef principal);

private:
    core::Pipeline& pipeline_;
};

/// The id of a tool's source as callers see it: `builtin`, a device's slug, the name of a host or provider.
std::string_view provider_id_of(const core::Tool& tool);

}  // namespace crab::sw4rm
