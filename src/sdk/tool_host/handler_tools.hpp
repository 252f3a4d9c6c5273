#pragma once

#include "base/task/task_group.hpp"
#include "core/call/tool_host.hpp"
#include "sdk/handler_pool.hpp"
#include "sdk/tool_host/hosted_tools.hpp"

#include "crab/tool_handler.hpp"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace crab::sdk {

/// A tool and the function that answers its calls.
struct HandledTool {
    core::ToolSpec spec;
    ToolHandler handler;
};

/// Tools whose calls are answered by handlers on threads. A call ends at its deadline, or when it
/// is cancelled, whatever its handler does; a handler that continues sees it in its ToolRequest,
/// keeps its slot, and its result serves repeats. Lives on one loop. Source: docs/protocols/rtp.md,
/// section 3, "Deadline".
class HandlerTools final : public HostedTools, private core::ToolHost {
public:
    /// `home` outlives it.
    HandlerTools(std::vector<HandledTool> tools, net::EventLoop& home);
    ~HandlerTools() override;

    Result<void> register_in(core::Registry& registry) override;
    /// Cancels what runs, and is done when the last handler has returned.
    void stop(std::function<void()> done) override;

private:
    struct Running;
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    void on_returned(const std::shared_ptr<Running>& running);
    void check_stopped();

    net::EventLoop& home_;
    const std::vector<HandledTool> tools_;
    std::unordered_map<std::string_view, const ToolHandler*> handlers_;  ///< by name
    std::unordered_set<std::shared_ptr<Running>> running_;
    std::function<void()> on_stopped_;
    TaskGroup late_results_;
    HandlerPool pool_;  ///< last: joined first
};

}  // namespace crab::sdk
