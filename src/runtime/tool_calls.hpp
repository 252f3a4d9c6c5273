#pragma once

#include "adapters/rtp/calls/tools_api.hpp"
#include "runtime/call_path.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::runtime {

/// How tools are listed, called and cancelled over HTTP, on every listener but that of peers.
class ToolCalls final : public Component {
public:
    /// `service` is the name by which answers call this process.
    ToolCalls(CallPath& calls, std::string service) : calls_(calls), service_(std::move(service)) {}

    std::string_view name() const override { return "tool calls"; }
    Result<void> start() override;
    void add_routes(const ListenerRoutes& table) override;

private:
    CallPath& calls_;
    const std::string service_;
    std::vector<std::unique_ptr<rtp::ToolsApi>> apis_;  ///< by event loop
};

}  // namespace crab::runtime
