#pragma once

#include "adapters/sw4rm/provider_tool.hpp"
#include "adapters/sw4rm/rpc.hpp"
#include "core/pipeline/pipeline.hpp"

#include <functional>
#include <string>
#include <vector>

namespace crab::sw4rm {

/// `sw4rm.connector.ConnectorService` (docs/protocols/sw4rm.md, section 12). One per event loop.
class ConnectorService {
public:
    /// Takes a registration of `principal`. Errors: why it is refused as a whole.
    using Register = std::function<Task<Result<void>>(
        std::string principal, std::string provider_id, std::vector<OfferedTool> tools)>;

    ConnectorService(core::Pipeline& pipeline, Register take)
        : pipeline_(pipeline), register_(std::move(take)) {}

    /// What the caller may call, sorted; of one source, under its own names, when the request names
    /// it.
    Task<void> describe_tools(Rpc rpc, core::PrincipalRef principal);
    /// Replaces the tools of one provider, all or nothing.
    Task<void> register_provider(Rpc rpc, core::PrincipalRef principal);

private:
    core::Pipeline& pipeline_;
    Register register_;
};

/// The id of a tool's source as callers see it: `builtin`, a device's slug, the name of a host or
/// provider.
std::string_view provider_id_of(const core::Tool& tool);

}  // namespace crab::sw4rm
