#pragma once

#include "core/call/picture.hpp"
#include "core/call/tool_result.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace crab::agent {

/// What the model reads as a tool's output: the text or JSON it gave, or `Error: CODE: message`.
/// Longer than `most_bytes`, it is cut and says so. Source: docs/protocols/clawseed.md, section 5.
std::string shown_to_model(const core::Outcome& outcome, std::size_t most_bytes);

/// A picture that a tool gave in its result, as base64: an object with `mime_type` or
/// `content_type` and `data_base64`, `base64` or `data` (what devices give), or a data URL. Nothing
/// for any other result, and for what is not a picture of a kind and size that models take.
struct ToolPicture {
    core::Picture picture;
    std::string base64;
};
std::optional<ToolPicture> inline_picture(const core::ToolResult& result);
/// The id of the artifact that a result is, if that says that it is a picture.
std::optional<std::string> picture_artifact(const core::ToolResult& result);
/// What a model reads in place of the picture's bytes, whether it is shown the picture or not.
std::string picture_note(const core::Picture& picture, bool shown);

}  // namespace crab::agent
