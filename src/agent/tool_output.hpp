#pragma once

#include "core/tool_result.hpp"

#include <cstddef>
#include <string>

namespace crab::agent {

/// What the model reads as a tool's output: the text or JSON it gave, or `Error: CODE: message`. Longer than `most_bytes`, it is cut
/// and says so. Source: docs/protocols/clawseed.md, section 5.
std::string shown_to_model(const core::Outcome& outcome, std::size_t most_bytes);

}  // namespace crab::agent
