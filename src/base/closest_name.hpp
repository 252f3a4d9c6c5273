#pragma once

#include <span>
#include <string>
#include <string_view>

namespace crab {

/// The candidate closest to a mistyped `name` (edit distance, ignoring case); empty when none is
/// close.
std::string_view closest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace crab
