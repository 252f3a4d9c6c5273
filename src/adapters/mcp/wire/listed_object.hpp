#pragma once

#include "adapters/mcp/wire/revision.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Tools, resources, templates and prompts as lists show them, in the form of a revision.
/// Source: docs/protocols/mcp.md, sections 3.3, 4.2, 4.4 and 5, "Versions of fields".
namespace crab::mcp {

/// The four hints, which are always written out.
struct ToolHints {
    bool read_only = false;
    bool destructive = true;
    bool idempotent = false;
    bool open_world = true;
};

/// A tool to be listed. JSON members are texts that a parser has accepted and go out byte for byte;
/// texts are UTF-8. Empty ones are left out, but for `name` and `input_schema`.
struct ListedTool {
    std::string_view name;
    std::string_view title;
    std::string_view description;
    std::string_view input_schema;  ///< JSON
    std::string_view output_schema;  ///< JSON
    ToolHints hints;
    std::string_view icons;  ///< JSON
    std::string_view meta;  ///< JSON
};
/// Appends a tool with what the revision has: before 2025-06-18 the title stands in the annotations
/// or nowhere; an `outputSchema` whose root is not `type: object` is for modern clients;
/// `execution` is for nobody.
void append_tool(std::string& out, const ListedTool& tool, Revision revision);

/// A member to be written in the place of the upstream's.
struct ReplacedMember {
    std::string_view name;
    std::string_view json;
};
/// Appends a resource, template or prompt, as its upstream described it, with what the revision
/// has, and with `replaced` (`name`, `uri`, cleaned texts) in the place of its own members.
void append_listed_object(std::string& out, std::string_view object,
                          std::span<const ReplacedMember> replaced, Revision revision);

/// An `inputSchema` that clients may see: itself if its root says `type: object`, with that said if
/// it says no type. Nothing for any other, whose tool is left out (section 4.2).
std::optional<std::string> object_schema(std::string_view schema);

}  // namespace crab::mcp
