#pragma once

#include "core/call/picture.hpp"
#include "core/call/tool_result.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace crab::agent {

/// A tool's output for the model: its text or JSON, or `Error: CODE: message`. Truncated, with a
/// note, beyond `most_bytes`. Source: docs/protocols/clawseed.md, section 5.
std::string shown_to_model(const core::Outcome& outcome, std::size_t most_bytes);

/// A picture in a tool's result, as base64: an object with `mime_type` or `content_type` and
/// `data_base64`, `base64` or `data` (as devices send), or a data URL. Nothing for any other
/// result, and for pictures of a type or size that models do not accept.
struct ToolPicture {
    core::Picture picture;
    std::string base64;
};
std::optional<ToolPicture> inline_picture(const core::ToolResult& result);
/// The artifact id of a result that references a picture.
std::optional<std::string> picture_artifact(const core::ToolResult& result);
/// The text that replaces the picture's bytes, whether or not the model gets the picture.
std::string picture_note(const core::Picture& picture, bool shown);

}  // namespace crab::agent
