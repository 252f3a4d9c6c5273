#include "sdk/tool_host/hosted_tools.hpp"

#include <stdexcept>

namespace crab::sdk {
void register_tools(core::Registry& registry, std::vector<core::ToolSpec> specs,
                    core::ToolHost& runs) {
    const auto gate = std::make_shared<core::ToolGate>(kCallsAtOnce, kCallsWaiting);
    // not owned: the registry may live longer
    const std::shared_ptr<core::ToolHost> host(std::shared_ptr<void>(), &runs);
    std::vector<core::ToolRef> tools;
    for (core::ToolSpec& spec : specs) {
        auto tool = core::make_tool(std::move(spec));
        if (!tool) throw std::logic_error("a built-in tool is not valid: " + tool.error().message);
        (*tool)->host = host;
        const auto& most = (*tool)->spec.max_concurrency;
        (*tool)->gate = most ? std::make_shared<core::ToolGate>(*most, kCallsWaiting, gate) : gate;
        registry.reserve((*tool)->spec.name);
        tools.push_back(std::move(*tool));
    }
    registry.change(ConnectionId{}, tools, {});
}

}  // namespace crab::sdk
