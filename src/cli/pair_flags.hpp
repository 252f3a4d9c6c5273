#pragma once

#include <string>
#include <vector>

namespace crab::cli {

/// The flags of `crab peers pair` may appear anywhere and start with one or two dashes, as in the
/// original's command line. Moves them to the end with two dashes; other commands' arguments are
/// unchanged. Source: docs/protocols/rtp.md, section 7.
std::vector<std::string> pair_flags_last(const std::vector<std::string>& arguments);

}  // namespace crab::cli
