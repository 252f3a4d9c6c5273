#include "sdk/tool_host/hosted_tools.hpp"

#include <stdexcept>

namespace crab::sdk {
void register_hosted_tools(core::Registry& registry, HostedTools& hosted) {
    const auto gate = std::make_shared<core::ToolGate>(kCallsAtOnce, kCallsWaiting);
    const std::shared_ptr<core::ToolHost> host(std::shared_ptr<void>(), &hosted.host());   // not owned: the registry may live longer
    std::vector<core::ToolRef> tools;
    for (core::ToolSpec& spec : hosted.tools()) {
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
