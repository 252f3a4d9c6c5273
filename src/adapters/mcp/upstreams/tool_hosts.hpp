#pragma once

#include "adapters/mcp/upstreams/held_entries.hpp"
#include "adapters/mcp/upstreams/pins.hpp"
#include "adapters/mcp/upstreams/tool_reading.hpp"
#include "adapters/mcp/upstreams/upstream_calls.hpp"
#include "core/call/tool_host.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::mcp {

/// Runs one tool of an upstream.
class UpstreamToolHost final : public core::ToolHost {
public:
    UpstreamToolHost(std::shared_ptr<UpstreamCalls> calls, UpstreamTool tool)
        : calls_(std::move(calls)), tool_(std::move(tool)) {}
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;

private:
    const std::shared_ptr<UpstreamCalls> calls_;
    const UpstreamTool tool_;
};

/// Runs a method of an upstream as a tool: the arguments are its params.
class UpstreamMethodHost final : public core::ToolHost {
public:
    /// `name_member`: the member of the params that is the request's `Mcp-Name`; may be empty.
    UpstreamMethodHost(std::shared_ptr<UpstreamCalls> calls,
                       std::shared_ptr<const HeldEntries> held, std::string_view method,
                       std::string_view name_member)
        : calls_(std::move(calls)),
          held_(std::move(held)),
          method_(method),
          name_member_(name_member) {}
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;
    /// Why such a call may not run: kApprovalRequired, or nothing.
    std::optional<Error> refusal_of(std::string_view args) const;

private:
    const std::shared_ptr<UpstreamCalls> calls_;
    const std::shared_ptr<const HeldEntries> held_;
    const std::string method_, name_member_;
};

/// Stands where a tool would, that is held back: nothing of it runs.
class HeldBackHost final : public core::ToolHost {
public:
    HeldBackHost(std::string source, HeldBack::Why why) : source_(std::move(source)), why_(why) {}
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;

private:
    const std::string source_;
    const HeldBack::Why why_;
};

/// The tools through which fronts read resources, get prompts and complete arguments; they refuse
/// what is held back.
std::vector<std::shared_ptr<core::Tool>> make_method_tools(
    const std::shared_ptr<UpstreamCalls>& calls, const std::shared_ptr<const HeldEntries>& held);
/// A tool that is callable under its name, in no list, and refuses.
std::shared_ptr<core::Tool> make_held_back(const core::Tool& tool, const std::string& source,
                                           HeldBack::Why why);

}  // namespace crab::mcp
