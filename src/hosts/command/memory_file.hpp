#pragma once

#include "base/descriptor.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace crab::command {

/// A file that is in memory only, with this text, to be read from its beginning; closed by exec.
/// Not open when there is none.
Descriptor memory_file(std::string_view text);

/// Each word with a zero byte after it, as bubblewrap reads its options from a file.
std::string ended_by_nul(const std::vector<std::string>& words);

}  // namespace crab::command
