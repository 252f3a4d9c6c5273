#pragma once

#include <functional>
#include <string>
#include <string_view>

/// The URIs of resources in results and lists, on their way between the form that an upstream knows
/// and that of a client. Objects given are JSON that a parser has accepted. Source:
/// docs/protocols/mcp.md, section 7.5.
namespace crab::mcp {

/// What a URI becomes; also called for who only wants to see them.
using MapUri = std::function<std::string(const std::string& uri)>;

/// A `resources/read` result with `contents[].uri` mapped.
std::string map_read_uris(std::string_view result, const MapUri& map);
/// A `tools/call` result with the URIs of links and embedded resources mapped.
std::string map_call_uris(std::string_view result, const MapUri& map);
/// An entry of `tools/list` with the URI of its page mapped (MCP Apps: `_meta.ui.resourceUri`, and
/// `_meta["ui/resourceUri"]` of older servers).
std::string map_tool_uris(std::string_view entry, const MapUri& map);
/// The same for the messages of `prompts/get`.
std::string map_prompt_uris(std::string_view result, const MapUri& map);

}  // namespace crab::mcp
