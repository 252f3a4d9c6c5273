#pragma once

#include "cli/output/terminal.hpp"
#include "json/value.hpp"

#include <string>

namespace crab::cli {

/// Explains an audit record or a running call: who called what, which rule decided, hooks,
/// attempts, outcome, sizes, and when each stage was reached.
std::string explanation_of(const json::Value& record, const Terminal& terminal);

}  // namespace crab::cli
