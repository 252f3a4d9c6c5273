#pragma once

#include <span>
#include <string>
#include <vector>

namespace crab::cli {

/// The flags of `crab pair` stand anywhere and begin with one or two dashes, as in the original's
/// command line. This puts them last and gives them two; any other command's arguments stay as they
/// are. Source: docs/protocols/rtp.md, section 7.
std::vector<std::string> pair_flags_last(std::span<const char* const> arguments);

}  // namespace crab::cli
