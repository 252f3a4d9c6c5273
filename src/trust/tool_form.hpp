#pragma once

#include "core/call/tool.hpp"

#include <string>

namespace crab::trust {

/// What an operator approves of a tool: a JSON object of its `description`, `effects`, `schema` and
/// `output_schema`. Two tools of one name with the same form are the same to who approved one.
std::string form_of(const core::ToolSpec& tool);

}  // namespace crab::trust
