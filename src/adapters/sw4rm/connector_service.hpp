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
    /// Handles a registration by `principal`. Errors: why it is refused as a whole.
    using Register = std::function<Task<Result<void>>(
        std::string principal, std::string provider_id, std::vector<OfferedTool> tools)>;

    ConnectorService(core::Pipeline& pipeline, Register take)
        : pipeline_(pipeline), register_(std::move(take)) {}

    /// The tools that the caller may call, sorted; if the request names a source, only its tools,
    /// under their own names.
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
