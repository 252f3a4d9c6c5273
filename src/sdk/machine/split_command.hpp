#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::sdk {

/// Splits a command line into words as a POSIX shell would: white space separates, '…' keeps
/// everything, "…" and `\` quote. Nothing is expanded: `$`, `*`, `~`, `|`, `;` and `>` are ordinary
/// characters. Errors: kInvalidArgs for no words, an open quote or a `\` at the end.
Result<std::vector<std::string>> split_command(std::string_view line);

}  // namespace crab::sdk
