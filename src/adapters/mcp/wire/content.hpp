#pragma once

#include "adapters/mcp/wire/revision.hpp"

#include <string>
#include <string_view>

/// Content blocks and contents of resources in the form of a revision: what it does not have is
/// left out or said as text, all else stays as it came. The JSON given is what a parser has
/// accepted. Source: docs/protocols/mcp.md, sections 3.3 and 5, "Versions of fields".
namespace crab::mcp {

/// Appends one content block of a tool's result or a prompt's message. Audio before 2025-03-26 and
/// links before 2025-06-18 become text.
void append_content(std::string& out, std::string_view block, Revision revision);

/// Appends an element of `contents`, which a read gives.
void append_resource_contents(std::string& out, std::string_view contents, Revision revision);

/// Appends `annotations` of content and resources: without `lastModified` before 2025-06-18.
void append_annotations(std::string& out, std::string_view annotations, Revision revision);

/// Appends a text block.
void append_text_block(std::string& out, std::string_view text);

}  // namespace crab::mcp
