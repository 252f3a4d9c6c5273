#pragma once

#include <span>
#include <string>
#include <string_view>

namespace crab {

/// The candidate that a person who typed `name` most likely meant (few edits away, without case);
/// empty when none is near.
std::string_view closest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace crab
