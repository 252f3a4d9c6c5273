#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/call/tool_scope.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace crab::agent {

/// The configuration of one agent.
struct AgentOptions {
    std::string name = "crab";  ///< `agent_id` of its calls, which selects its memories and jobs
    std::string tenant = "default";  ///< for principals that may act for it; others use their own
    std::string instructions;  ///< the system prompt; empty: ours
    /// Indexes of the configured models, in order of preference
    std::vector<std::size_t> models{0};
    core::ToolScope tools;  ///< restricts the tools that its principal may call
    bool may_ask = true;  ///< ask_user is among them
    std::size_t max_rounds = 25;  ///< model requests in one turn
    Milliseconds turn_timeout{600'000};
    /// Conversation and tools together, estimated; older turns are left out
    std::size_t context_tokens = 32'768;
    std::size_t output_bytes = 65'536;  ///< of one tool's output that the model sees
    /// Offered to the model; beyond that it gets find_tools instead of the rest
    std::size_t max_tools = 128;
    std::size_t tool_tokens = 16'384;  ///< the same in estimated tokens
    std::vector<Glob> pinned;  ///< tools that are always offered
};

/// All agents of a gateway. Immutable once turns run.
struct AgentCatalog {
    AgentOptions standard;  ///< of chats without a persona
    std::map<std::string, AgentOptions, std::less<>> named;

    /// The agent of a persona, never null; the default agent for an empty persona. Errors:
    /// kNotFound for a persona that is not configured; there is no fallback, since another agent
    /// may have other rights.
    Result<const AgentOptions*> find(std::string_view persona) const {
        if (persona.empty()) return &standard;
        if (const auto it = named.find(persona); it != named.end()) return &it->second;
        return fail(
            ErrorCode::kNotFound,
            fmt::format("the agent {} is not configured any more; begin another chat session",
                        persona));
    }
    const AgentOptions& find_or_standard(std::string_view persona) const {
        return *find(persona).value_or(&standard);
    }
};

}  // namespace crab::agent
