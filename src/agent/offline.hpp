#pragma once

#include "core/pipeline.hpp"
#include "core/turn.hpp"
#include "net/event_loop.hpp"

#include <string>
#include <string_view>

namespace crab::agent {

/// The runner of a gateway without a model. It says so, and still lets a person use the tools: `/tools` lists them and
/// `/tool NAME {json}` calls one, through the pipeline like every call. One for each event loop.
class Offline final : public core::TurnRunner {
public:
    Offline(net::EventLoop& loop, core::Pipeline& pipeline, std::size_t output_bytes = 65'536) : loop_(loop), pipeline_(pipeline), output_bytes_(output_bytes) {}

    std::string_view provider() const override { return "offline"; }
    std::string_view model() const override { return ""; }
    /// Errors: kUnavailable for what only a model could answer; kInvalidArgs for `/tool` without a name; kCancelled.
    Task<Result<std::string>> run(core::TurnRequest request, core::TurnEvents& events) override;

private:
    std::string list_tools(const core::TurnRequest& request);
    Task<Result<std::string>> call_tool(const core::TurnRequest& request, std::string_view rest, core::TurnEvents& events);

    net::EventLoop& loop_;
    core::Pipeline& pipeline_;
    const std::size_t output_bytes_;
};

}  // namespace crab::agent
