#pragma once

#include "adapters/sw4rm/messages.hpp"
#include "core/call/tool_schemas.hpp"
#include "core/registry/tool_listing.hpp"
#include "json/value.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crab::sw4rm {

/// A tool as a remote provider offers it, or as the configuration declares it instead.
struct OfferedTool {
    std::string name, title, description;
    std::string input_schema, output_schema;  ///< JSON text; empty: not stated
    std::vector<std::string> accepts;         ///< media types of arguments that are no JSON
    bool idempotent = false, needs_worktree = false;
    std::uint32_t default_timeout_s = 0, max_concurrency = 0;  ///< 0: not stated
    bool side_effects = false;   ///< stated
    bool effects_known = false;  ///< stated either way
};

OfferedTool offered_tool(const ToolDescriptor& descriptor);
/// A tool of the configuration: name, title, description, input_schema, output_schema, accepts,
/// idempotent, needs_worktree, timeout_s, max_concurrency, side_effects. A member of the wrong type
/// counts as not stated.
OfferedTool declared_tool(const json::Value& item);

/// The tool without source and host, its policy capped by `ceilings`. Errors: kInvalidArgs for an
/// invalid name and for a schema that is a URL or does not compile.
Result<std::shared_ptr<core::Tool>> make_provider_tool(const OfferedTool& offered,
                                                       const core::PolicyCeilings& ceilings,
                                                       core::SchemaBudget& budget);

/// Of equal names the first counts; beyond 1 000 tools the rest is dropped.
core::ToolList make_provider_tools(const std::vector<OfferedTool>& offered,
                                   const core::PolicyCeilings& ceilings);

}  // namespace crab::sw4rm
