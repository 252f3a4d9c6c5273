#pragma once

#include "crab/tool_answer.hpp"
#include "crab/tool_request.hpp"

#include <functional>

namespace crab {

/// Answers one call. Runs on a thread of its device's or host's own; several calls, of one tool
/// too, run at the same time. What it throws reaches the caller as `INTERNAL`.
using ToolHandler = std::function<ToolAnswer(ToolRequest request)>;

/// Takes the answer to one call, on any thread. Only the first counts; one that comes after the
/// call has ended is dropped.
using AnswerLater = std::function<void(ToolAnswer answer)>;

/// Starts to answer one call, for programs with an event loop of their own: runs on the device's
/// thread and must not block; `answer` is called when there is an answer, or at once. What it
/// throws reaches the caller as `INTERNAL`.
using LaterHandler = std::function<void(ToolRequest request, AnswerLater answer)>;

}  // namespace crab
