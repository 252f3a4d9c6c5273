#pragma once

#include "agent/tool_access.hpp"
#include "core/chat/turn.hpp"
#include "core/pipeline/pipeline.hpp"
#include "net/loop/event_loop.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace crab::agent {

/// The turn runner of a gateway without a model. Answers that there is none, but lets a person use
/// the tools: `/tools` lists them and `/tool NAME {json}` calls one, through the pipeline like
/// every call. One for each event loop.
class NoModelRunner final : public core::TurnRunner {
public:
    NoModelRunner(net::EventLoop& loop, core::Pipeline& pipeline, core::CallRunner& calls,
                  std::shared_ptr<const AgentCatalog> agents)
        : loop_(loop), pipeline_(pipeline), runner_(calls), agents_(std::move(agents)) {}

    core::TurnAgent agent_of(std::string_view persona) override {
        const AgentOptions& options = agents_->find_or_standard(persona);
        return {.name = options.name, .tenant = options.tenant, .provider = "offline", .model = {}};
    }
    /// Errors: kUnavailable for what only a model could answer; kInvalidArgs for `/tool` without a
    /// name; kCancelled.
    Task<Result<std::string>> run(core::TurnRequest request, core::TurnEvents& events) override;

private:
    std::string list_tools(const ToolAccess& access);
    Task<Result<std::string>> call_tool(const ToolAccess& access, std::string_view rest,
                                        std::size_t output_bytes, core::TurnEvents& events);

    net::EventLoop& loop_;
    core::Pipeline& pipeline_;
    core::CallRunner& runner_;
    const std::shared_ptr<const AgentCatalog> agents_;
};

}  // namespace crab::agent
