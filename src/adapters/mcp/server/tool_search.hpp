#pragma once

#include "adapters/mcp/server/client_request.hpp"
#include "adapters/mcp/server/tool_lists.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/task.hpp"
#include "core/registry/tool_index.hpp"

#include <optional>
#include <string_view>

namespace crab::mcp {

/// `find_tools` and `call_tool`, which a list shows in place of more tools than its scope has a
/// budget for. Source: docs/protocols/mcp.md, section 4.1.
struct ToolSearch {
    core::ToolIndex* index = nullptr;  ///< null: lists are shown whole, whatever their budget
    BlockingPool* pool = nullptr;

    /// The reply to a `tools/call` of find_tools in this view.
    Task<Reply> find(const ClientRequest& request, std::shared_ptr<const ToolView> view,
                     ToolLists& lists) const;
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
