#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Results of tools that are no MCP server's, as the result object of `tools/call` in its newest
/// form; append_call_result() gives it the form of the client's revision.
/// Source: docs/protocols/mcp.md, section 4.3.
namespace crab::mcp {

/// UTF-8 text: a text block.
std::string text_result(std::string_view text);
/// JSON that a parser has accepted: `structuredContent`, and the same as text.
std::string json_result(std::string_view json);
/// JSON with `mime_type` of an image or sound and its `data_base64`, as devices give photos: that
/// block, and the other members as in json_result(). Nothing for other JSON.
std::optional<std::string> media_result(std::string_view json);
/// Whether JSON may be of that kind; cheap.
bool may_hold_media(std::string_view json);
/// Bytes, by their media type: `image/*` and `audio/*` as such a block, all others as a resource
/// `crab://call/<id>/result`.
std::string bytes_result(std::string_view bytes, std::string_view media_type,
                         std::string_view call_id);

/// A result that is kept apart because of its size.
struct ArtifactLink {
    std::string_view id;
    std::string_view name;
    std::string_view media_type;
    std::uint64_t size = 0;
};
/// A link `crab://artifact/<id>` and a line of text that says so.
std::string artifact_result(const ArtifactLink& artifact);

}  // namespace crab::mcp
