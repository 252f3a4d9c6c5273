#pragma once

#include "base/result.hpp"
#include "core/call/tool.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::fleet {

/// The tools of one link, as another node has to know them to list them and to decide who may call
/// them. Who runs them and their gates stay where they are.
std::string link_tools_to_wire(std::span<const core::ToolRef> tools);

/// Those tools with compiled schemas, without a host; `source` is of the other node, without its
/// connection. Errors: kInvalidArgs for what is not such a text, or holds no valid tool.
Result<std::vector<std::shared_ptr<core::Tool>>> parse_link_tools(std::string_view text);

}  // namespace crab::fleet
