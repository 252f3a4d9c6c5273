#pragma once

#include "core/call/tool.hpp"
#include "json/writer.hpp"

#include <string_view>

namespace crab::admin {

/// Everything that is known of a tool, as members of the object that is open in `writer`. `name`:
/// how whoever asks can call it.
void append_tool_members(json::Writer& writer, std::string_view name, const core::Tool& tool);

}  // namespace crab::admin
