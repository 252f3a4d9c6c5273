#pragma once

#include <string_view>

namespace crab {

/// The version of this program, such as `0.1.0`: the file VERSION of the tree.
std::string_view version();

}  // namespace crab
