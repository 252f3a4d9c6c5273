#pragma once

#include "crab/tool_answer.hpp"
#include "crab/tool_request.hpp"

#include <functional>

namespace crab {

/// Answers one call. Runs on a thread of its device's or host's own; several calls, of one tool too, run at the same time. What it
/// throws reaches the caller as `INTERNAL`.
using ToolHandler = std::function<ToolAnswer(ToolRequest request)>;

}  // namespace crab
