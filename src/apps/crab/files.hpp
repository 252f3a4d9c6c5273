#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace crab::app {

/// The content of a file, `-` being standard input; at most 64 MiB. Errors: kNotFound, kForbidden, kOversize.
Result<std::string> read_input(std::string_view path);

}  // namespace crab::app
