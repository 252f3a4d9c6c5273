#pragma once

#include "json/value.hpp"

#include <string>

namespace crab::cron {

/// Compact JSON that is the same for equal values: members sorted by name, whole numbers without a
/// fraction.
std::string canonical_json(const json::Value& value);

}  // namespace crab::cron
