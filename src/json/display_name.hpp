#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace crab::json {

inline constexpr std::size_t kMostDisplayName = 128;  ///< characters, however many bytes they have

/// A name that people give and read, in any script, without the white space around it. Errors:
/// kInvalidArgs for one that is empty, too long or not UTF-8, or that holds control characters or
/// what is_hidden() means, so that two names which look alike are not two for that.
Result<std::string> read_display_name(std::string_view given);

}  // namespace crab::json
