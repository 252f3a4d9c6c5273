#pragma once

#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "base/task/fair_pool.hpp"
#include "base/task/task.hpp"
#include "core/policy/principal_limits.hpp"
#include "core/registry/tool_index.hpp"

#include <optional>
#include <string_view>

namespace crab::mcp {

/// `find_tools` and `call_tool`, which a list shows in place of more tools than its scope has a
/// budget for. Source: docs/protocols/mcp.md, section 4.1.
struct ToolSearch {
    core::ToolIndex* index = nullptr;  ///< null: lists are shown whole, whatever their budget
    FairPool* pool = nullptr;        ///< its own: an index searches one thing at a time

    /// The reply to a `tools/call` of find_tools in this view. A principal's searches wait for each
    /// other, and for one of each other principal; `limits` says how many it may have.
    Task<Reply> find(const ClientRequest& request, std::shared_ptr<const ToolView> view,
                     ToolLists& lists, core::PrincipalLimits& limits) const;
};

inline constexpr std::string_view kFindTools = "find_tools", kCallTool = "call_tool";
/// How many tools a search finds if it is not told.
inline constexpr std::size_t kUsuallyFound = 8;

/// As if they were registered; ascending by name.
const std::vector<ToolView::Item>& search_tools();

/// What call_tool is asked to call: views into its arguments.
struct SearchedCall {
    std::string name;
    std::string_view arguments;  ///< an object; may be empty
};
/// Nothing when the arguments are not those of call_tool.
std::optional<SearchedCall> read_searched_call(std::string_view arguments);

}  // namespace crab::mcp
