#pragma once

#include "core/call/tool_result.hpp"

#include <optional>
#include <string_view>

namespace crab::core {

/// The media type of a result that is an object of content blocks: `content`, an array of blocks of
/// which some are text, and perhaps `structuredContent`. Only fronts of the protocol that it comes
/// from read it as it is.
inline constexpr std::string_view kBlocksType = "application/vnd.mcp.result+json";

/// Such a result for everybody else: its `structuredContent` as JSON, else the text of its blocks,
/// a line end between two, else the object itself as JSON. Nothing for any other result, which is
/// as it is. Source: docs/protocols/mcp.md, section 7.1.
std::optional<ToolResult> plain_form(const ToolResult& result);

}  // namespace crab::core
